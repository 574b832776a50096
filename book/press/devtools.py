"""A headless Chromium over its DevTools pipe, with the standard library alone.

The browser reads commands on its file descriptor 3 and writes answers and events to 4, each a JSON object
that ends with a NUL byte. Every wait has a deadline, and leaving the ``with`` block ends all its processes.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeAlias

__all__ = ["Browser", "BrowserError", "Message", "find_browser"]

Message: TypeAlias = dict[str, Any]

COMMANDS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # as on a phone, where they take no room
    "--hide-scrollbars",
    # a request to another host is a finding, and still must not leave the machine
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
START_SECONDS = 60.0
ANSWER_SECONDS = 20.0
END_SECONDS = 5.0


class BrowserError(Exception):
    """The browser did not start, ended, or did not answer in time."""


def find_browser() -> str | None:
    """The first of ``COMMANDS`` on the path."""
    return next((path for command in COMMANDS if (path := shutil.which(command))), None)


class Browser:
    """One browser process with one blank tab; a context manager.

    Parameters
    ----------
    command : the browser's program

    Raises
    ------
    BrowserError : it cannot be started
    """

    def __init__(self, command: str) -> None:
        self.command = command
        self.events: list[Message] = []
        self._received = b""
        self._last_id = 0

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(prefix="press-", ignore_cleanup_errors=True)
        commands, self._send = os.pipe()
        self._receive, answers = os.pipe()
        # away from 3 and 4, which the child's copies are going to take
        child_ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, answers)]
        try:
            self.process_id = os.posix_spawn(
                self.command,
                [self.command, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                    (os.POSIX_SPAWN_DUP2, child_ends[0], 3),
                    (os.POSIX_SPAWN_DUP2, child_ends[1], 4),
                ],
                setpgroup=0,
            )
        except OSError as error:
            self._close_files()
            raise BrowserError(f"{self.command} cannot be started: {error.strerror}") from None
        finally:
            for end in (commands, answers, *child_ends):
                os.close(end)
        try:
            self._session = self._open_tab()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def call(self, method: str, seconds: float = ANSWER_SECONDS, /, **parameters: Any) -> Message:
        """Send one command to the tab and return its result; events that arrive meanwhile are kept.

        Raises
        ------
        BrowserError : an error as answer, no answer in time, or the browser is gone
        """
        return self._call(method, parameters, self._session, seconds)

    def wait(self, method: str, seconds: float = ANSWER_SECONDS) -> Message:
        """The first kept or coming event of this name; it stays among the kept ones.

        Raises
        ------
        BrowserError : none in time, or the browser is gone
        """
        for event in self.events:
            if event["method"] == method:
                return event
        return self._read_until(lambda message: message.get("method") == method, method, seconds)

    def close(self) -> None:
        """End the browser and everything that it started; it gets a moment to do so by itself."""
        with contextlib.suppress(BrowserError, OSError):
            self._call("Browser.close", {}, None, END_SECONDS)
        deadline = time.monotonic() + END_SECONDS
        ended = False
        while not ended and time.monotonic() < deadline:
            ended = os.waitpid(self.process_id, os.WNOHANG) != (0, 0)
            time.sleep(0 if ended else 0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process_id, signal.SIGKILL)
        if not ended:
            os.waitpid(self.process_id, 0)
        self._close_files()

    def _close_files(self) -> None:
        os.close(self._send)
        os.close(self._receive)
        self._profile.cleanup()

    def _open_tab(self) -> str:
        target = self._call("Target.createTarget", {"url": "about:blank"}, None, START_SECONDS)
        attached = self._call(
            "Target.attachToTarget",
            {"targetId": target["targetId"], "flatten": True},
            None,
            ANSWER_SECONDS,
        )
        return str(attached["sessionId"])

    def _call(
        self, method: str, parameters: Message, session: str | None, seconds: float
    ) -> Message:
        self._last_id += 1
        number = self._last_id
        message: Message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        try:
            os.write(self._send, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise BrowserError(f"the browser ended before {method}") from None
        answer = self._read_until(lambda got: got.get("id") == number, method, seconds)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        result: Message = answer.get("result", {})
        return result

    def _read_until(self, wanted: Callable[[Message], bool], what: str, seconds: float) -> Message:
        deadline = time.monotonic() + seconds
        while True:
            while b"\0" in self._received:
                text, self._received = self._received.split(b"\0", 1)
                message: Message = json.loads(text)
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._receive], [], [], left)[0]:
                raise BrowserError(f"no answer to {what} within {seconds:g} s")
            received = os.read(self._receive, 1 << 20)
            if not received:
                raise BrowserError(f"the browser ended during {what}")
            self._received += received
