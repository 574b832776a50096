"""The built pages in a real browser: ``check(site, command)`` returns one line for each finding.

For every page: no request leaves the site, no script fails, every formula is rendered, and on a phone
nothing is wider than the screen and no formula wider than its box. The page with the most formulas is also
opened as a file, without a server.
"""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from press.devtools import Browser, BrowserError
from press.page import read_page

__all__ = ["check"]

DESK = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
PHONE_WIDTH = 390
BROWSERS = 2  # each keeps about one core busy
PHONE = {**DESK, "width": PHONE_WIDTH, "height": 844}
INLINE_SCHEMES = ("data:", "blob:", "about:")

RENDERED = """(async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  await document.fonts.ready;
  return {
    formulas: document.querySelectorAll(".math").length,
    rendered: document.querySelectorAll("mjx-container").length,
    errors: [...document.querySelectorAll("mjx-merror")].map(
      e => e.dataset.mjxError || e.textContent),
  };
})()"""
TOO_WIDE = """(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return "";
  const wide = [...document.body.querySelectorAll("*")].find(e => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right + window.scrollX > width + 1;
  });
  const name = wide ? wide.tagName.toLowerCase() : "body";
  return name + (wide?.classList.length ? "." + [...wide.classList].join(".") : "");
})()"""

# such a formula can be scrolled, but nothing says so
CUT_FORMULAS = """[...document.querySelectorAll("mjx-container[display]")].filter(e => {
  const maths = (e.querySelector("mjx-math") ?? e).getBoundingClientRect();
  return maths.width > e.getBoundingClientRect().width + 1;
}).map(e => e.closest("[id]")?.id ?? "without a label")"""


def check(site: Path, command: str) -> list[str]:
    """One line for each finding in the pages of ``site``, opened with the browser ``command``.

    Raises
    ------
    BrowserError : the browser cannot be started, or ends
    """
    pages = [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*.html"))
        if site / "_static" not in path.parents
        and not read_page(path.read_text(encoding="utf-8")).redirect
    ]
    formulas: dict[str, int] = {}
    findings: dict[str, list[str]] = {}
    stop = threading.Event()

    def look(part: int) -> None:
        with _browser(command) as browser:
            for page in pages[part::BROWSERS]:
                if stop.is_set():
                    return
                formulas[page], findings[page] = _visit(browser, address, page)

    with _served(site) as address:
        with ThreadPoolExecutor(BROWSERS) as pool:
            try:
                # list() raises what a thread raised
                list(pool.map(look, range(min(BROWSERS, len(pages)))))
            finally:
                stop.set()
        found = [f"{page}: {what}" for page in pages for what in findings[page]]
        if pages:
            page = max(pages, key=lambda name: formulas[name])
            with _browser(command) as browser:
                _, from_file = _visit(browser, site.resolve().as_uri() + "/", page)
            found += (f"{page}: opened as a file: {what}" for what in from_file)
    return found


@contextmanager
def _browser(command: str) -> Iterator[Browser]:
    with Browser(command) as browser:
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.call(f"{domain}.enable")
        yield browser


def _visit(browser: Browser, address: str, page: str) -> tuple[int, list[str]]:
    """The number of formulas on the page, and what was found."""
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", **DESK)
    try:
        browser.call("Page.navigate", url=address + page)
        browser.wait("Page.loadEventFired")
        maths = _evaluate(browser, RENDERED)
        browser.call("Emulation.setDeviceMetricsOverride", **PHONE)
        too_wide = _evaluate(browser, TOO_WIDE)
        cut = _evaluate(browser, CUT_FORMULAS)
    except BrowserError as error:
        return 0, [str(error), *_event_findings(browser.events, address)]
    found = list(_event_findings(browser.events, address))
    found += (f"formula with an error: {what}" for what in maths["errors"])
    if maths["rendered"] != maths["formulas"]:
        found.append(f"{maths['rendered']} of {maths['formulas']} formulas rendered")
    found += (f"formula wider than its box at {PHONE_WIDTH} px: {name}" for name in cut)
    if too_wide:
        found.append(f"wider than {PHONE_WIDTH} px: {too_wide}")
    return maths["formulas"], found


def _evaluate(browser: Browser, expression: str) -> Any:
    answer = browser.call(
        "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
    )
    if "exceptionDetails" in answer:
        raise BrowserError(f"a script of the check failed: {_thrown(answer['exceptionDetails'])}")
    return answer["result"].get("value")


def _event_findings(events: list[dict[str, Any]], address: str) -> Iterator[str]:
    for event in events:
        details = event.get("params", {})
        match event["method"]:
            case "Network.requestWillBeSent":
                url = details["request"]["url"]
                if not url.startswith((address, *INLINE_SCHEMES)):
                    yield f"request to {url[:120]}"
            case "Runtime.exceptionThrown":
                yield f"script error: {_thrown(details['exceptionDetails'])}"
            case "Runtime.consoleAPICalled" if details["type"] in {"error", "assert"}:
                said = (item.get("value", item.get("description")) for item in details["args"])
                yield f"console error: {' '.join(map(str, said))[:200]}"
            case "Log.entryAdded" if details["entry"]["level"] == "error":
                entry = details["entry"]
                yield f"console error: {entry['text'][:200]} {entry.get('url', '')[:120]}".strip()


def _thrown(details: dict[str, Any]) -> str:
    text: str = details.get("exception", {}).get("description") or details["text"]
    return text.splitlines()[0][:200]


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def end_headers(self) -> None:
        # the site does not change while it is served; every page shares its scripts and fonts
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """What is asked for is nobody's news."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        # a browser that leaves a page drops what is still on its way
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def _served(site: Path) -> Iterator[str]:
    """Serve the folder on a free port of this machine; yields the address, with a slash at its end."""
    server = _Server(("127.0.0.1", 0), partial(_Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
