"""A headless Chromium, steered over its DevTools pipe: enough to test the report page and to take its
picture. Standard library only."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
KEY_CODES = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
             "ArrowDown": 40}


def find_browser():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One browser with one page at a time. Use it as a context manager."""

    def __init__(self, program):
        self.program = program
        self.events = []
        self.last_id = 0
        self.unread = b""
        self.session = None

    def __enter__(self):
        self.files = contextlib.ExitStack()
        profile = self.files.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        their_in, self.to = os.pipe()
        self.answers, their_out = os.pipe()
        command = [self.program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                   "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb",
                   "--disable-lcd-text"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # the sandbox refuses to run as root
        # Chromium reads commands from descriptor 3 and answers on 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{their_in} 4>&{their_out}', "bash", *command],
            pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(their_in)
        os.close(their_out)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.call("Browser.close", whole_browser=True)
        os.close(self.to)
        os.close(self.answers)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.files.close()

    def _next_message(self, until):
        while b"\0" not in self.unread:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended")
            self.unread += data
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, whole_browser=False, timeout=60, **params):
        """The result of a DevTools command; events that come meanwhile are kept in self.events."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session and not whole_browser:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self._next_message(until)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer and answer.get("sessionId") == self.session:
                self.events.append(answer)

    def open(self, url, width, height, dark=False, reduced_motion=False, scale=1):
        """Loads a page in a new tab of that size and waits until it has drawn itself."""
        if self.session:
            self.call("Page.close")
            self.session = None
        target = self.call("Target.createTarget", whole_browser=True, url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", whole_browser=True, targetId=target,
                                 flatten=True)["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}])
        self.call("Page.navigate", url=url)
        self.evaluate("""new Promise(done => {
            const look = () => document.documentElement?.dataset.ready ? requestAnimationFrame(done)
                                                                       : setTimeout(look, 10);
            look(); }).then(() => true)""")

    def evaluate(self, expression):
        """The value of a JavaScript expression, waited for when it is a promise."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key, shift=False):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        event = {"key": key, "code": key, "windowsVirtualKeyCode": KEY_CODES.get(key, ord(key[0])),
                 "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def drag(self, begin, end):
        """Moves the pressed mouse from (x, y) to (x, y) of the window."""
        for kind, (x, y), buttons in (("mouseMoved", begin, 0), ("mousePressed", begin, 1), ("mouseMoved", end, 1),
                                      ("mouseReleased", end, 0)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons, clickCount=1,
                      button="none" if kind == "mouseMoved" and not buttons else "left")

    def complaints(self):
        """Errors and warnings in the console, uncaught exceptions, and refused content, as text."""
        self.call("Runtime.evaluate", expression="0")
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(arg.get("value")) for arg in params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def requests(self):
        """Addresses asked for since the page was opened."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path, clip=None):
        """A PNG of the window, or of clip = (x, y, width, height) of the page."""
        more = {}
        if clip:
            more = {"captureBeyondViewport": True,
                    "clip": dict(zip(("x", "y", "width", "height", "scale"), (*clip, 1)))}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
