#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""own_libraries.py: hwloc lies in a folder of its own, named by CMAKE_PREFIX_PATH as docs/building.md tells. The
build is configured only: all that needs hwloc, libomp among it, must find it there when it is installed, too."""
import re
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def asked(variable):
    return subprocess.check_output(["pkg-config", f"--variable={variable}", "hwloc"], text=True).strip()


def make_hwloc(folder):
    """The machine's hwloc, elsewhere."""
    (folder / "lib/pkgconfig").mkdir(parents=True)
    (folder / "include").symlink_to(asked("includedir"))
    (folder / "lib/libhwloc.so").symlink_to(Path(asked("libdir")) / "libhwloc.so")
    text = (Path(asked("pcfiledir")) / "hwloc.pc").read_text()
    for name, value in (("prefix", folder), ("libdir", folder / "lib"), ("includedir", folder / "include")):
        text, count = re.subn(f"^{name}=.*$", f"{name}={value}", text, flags=re.M)
        assert count == 1, text
    (folder / "lib/pkgconfig/hwloc.pc").write_text(text)


def configured(work):
    hwloc, build = work / "hwloc", work / "build"
    make_hwloc(hwloc)
    subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={hwloc}",
                    "-DOMPTIER_BUILD_MACHINE=OFF", "-DOMPTIER_BUILD_EXAMPLES=OFF", "-DOMPTIER_BUILD_TESTS=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    rules = (build / "build.ninja").read_text()
    for library in ("libomptier.so", "libomptier_ompt.so"):
        links = re.search(rf"^build lib/{library}: .*\n(?:  .*\n)*?  LINK_LIBRARIES = (.*)", rules, re.M)
        assert links and f"-Wl,-rpath,\"\\$$ORIGIN:{hwloc}/lib\"" in links[1], f"{library}: {links and links[1]}"
    assert re.search(rf"build-runtime .*--hwloc {hwloc} .*patched", rules), "libomp is built without it"
    installs = (build / "openmp-ext/cli/cmake_install.cmake").read_text()
    assert f'NEW_RPATH "{hwloc}/lib")' in installs, installs


def main():
    # Outside the project: CMake takes its folders for the build's, not for the user's.
    with tempfile.TemporaryDirectory() as folder:
        configured(Path(folder).resolve())


if __name__ == "__main__":
    main()
