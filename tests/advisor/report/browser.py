"""A headless Chromium, driven through the DevTools protocol over a pipe."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 60  # seconds for an answer


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def high_pipe():
    """A pipe whose ends lie above the descriptors 3 and 4, which Chromium wants its own at."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


class Browser:
    """One page in a window of its own; `complaints` has what its console said and what it asked the network for."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (its_input, self.output), (self.input, its_output) = high_pipe(), high_pipe()

        def place():
            os.dup2(its_input, 3)
            os.dup2(its_output, 4)

        options = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        options += ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
        options += ["--no-first-run", "--hide-scrollbars"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # which Chromium refuses to have as root
        self.process = subprocess.Popen(
            [program, *options, "about:blank"], preexec_fn=place, pass_fds=(3, 4),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(its_input)
        os.close(its_output)
        self.rest, self.number, self.session, self.complaints, self.loaded = b"", 0, None, [], False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self.session = None
            self.send("Browser.close")
        self.process.wait(PATIENCE)
        os.close(self.output)
        os.close(self.input)
        self.profile.cleanup()

    def receive(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium did not answer within {PATIENCE} s")
            read = os.read(self.input, 1 << 20)
            if not read:
                raise RuntimeError("Chromium went away")
            self.rest += read
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer.get("method"), answer.get("params", {}))

    def note(self, event, told):
        if event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {told['exceptionDetails']}")
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(f"console.{told['type']}: {told['args']}")
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"log: {told['entry']['text']}")
        elif event == "Network.requestWillBeSent" and not told["request"]["url"].startswith("file:"):
            self.complaints.append(f"request: {told['request']['url']}")

    def show(self, url, width, scheme="light"):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.complaints, self.loaded = [], False
        self.send("Page.navigate", url=url)
        deadline = time.monotonic() + PATIENCE
        while not self.loaded:
            answer = self.receive(deadline)
            self.note(answer.get("method"), answer.get("params", {}))
        self.settle()

    def settle(self):
        """Two frames: sizes have been observed, and what follows from them drawn."""
        self.run("await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")

    def run(self, body):
        """The value that the JavaScript function body returns."""
        answer = self.send("Runtime.evaluate", expression=f"(async () => {{ {body} }})()", awaitPromise=True,
                           returnByValue=True)  # fmt: skip
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")
