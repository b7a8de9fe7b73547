# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An installation, moved after it was made, is found by another project through CMake and pkg-config;
# no file of it names a folder of the machine that built it.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
# Both write the build's list of installed files.
omptier_test(conformance.install
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/install/check_install.sh ${CMAKE_BINARY_DIR}
          ${CMAKE_CURRENT_LIST_DIR}/install ${CMAKE_INSTALL_LIBDIR} ${OMPTIER_INSTALL_LIBDIR}
  BESIDE RESOURCE_LOCK install TIMEOUT 180 LABELS conformance)
omptier_test(conformance.no-build-paths
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/install/check_paths.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}
  BESIDE RESOURCE_LOCK install TIMEOUT 120 LABELS conformance)
