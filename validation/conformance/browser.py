# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A headless Chromium that tests drive over its debugging pipe (the DevTools protocol: JSON messages that end in a null
# byte). It keeps what a page complains of and what it asks the network for.
import atexit
import base64
import json
import os
import select
import shutil
import subprocess
import time


def program():
    """None: there is no browser here."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, folder):
        """folder: for its own files."""
        theirs, self.out = os.pipe()
        self.back, ours = os.pipe()

        def pass_pipe():  # commands come in as 3, answers go out as 4
            high = [os.dup(theirs), os.dup(ours)]
            os.dup2(high[0], 3), os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
             "--no-first-run", "--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={folder}/browser",
             "--remote-debugging-pipe"], preexec_fn=pass_pipe, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)})
        os.close(theirs), os.close(ours)
        atexit.register(self.close)
        self.number, self.pending, self.complaints, self.requests, self.loaded = 0, b"", [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(domain + ".enable")

    session = None

    def message(self, until):
        while b"\0" not in self.pending:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser did not answer")
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise ConnectionError("the browser ended")
            self.pending += piece
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        name, more = event["method"], event["params"]
        if name == "Runtime.exceptionThrown":
            details = more["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif name == "Runtime.consoleAPICalled" and more["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(of.get("value", of.get("description"))) for of in more["args"]))
        elif name == "Log.entryAdded" and more["entry"]["level"] in ("error", "warning"):
            self.complaints.append(more["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(more["request"]["url"])
        elif name == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **more):
        self.number += 1
        of = {"sessionId": self.session} if self.session else {}
        text = json.dumps({"id": self.number, "method": method, "params": more, **of}).encode() + b"\0"
        while text:
            text = text[os.write(self.out, text):]
        until = time.monotonic() + 60
        while True:
            message = self.message(until)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.note(message)

    def look(self, width, dark=False, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        self.complaints, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url=path.as_uri())

    def value(self, expression):
        """Of JavaScript in the page; promises are awaited."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return done["result"].get("value")

    def wait(self, expression, seconds):
        """Until it is true; how long that took."""
        begin = time.monotonic()
        while not self.value(expression):
            if time.monotonic() - begin > seconds:
                raise TimeoutError(f"not within {seconds} s: {expression}; the page complains: {self.complaints}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={"Enter": 13, "Tab": 9}.get(key, 0), **text)

    def screenshot(self, path, whole=True):
        path.write_bytes(base64.b64decode(
            self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, ConnectionError, TimeoutError):
            self.process.kill()
        self.process.wait()
