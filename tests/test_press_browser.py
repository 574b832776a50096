"""The checks in a browser, and what happens when the browser misbehaves.

Where no browser is installed, a stand-in that speaks the pipe's protocol plays its part; with one, a small
site full of faults is opened in it. On CI there has to be one.
"""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from press import devtools, mathjax
from press.browser import check
from press.devtools import Browser, BrowserError, find_browser

ANSWERING = """
import json, os
received = b""
while data := os.read(3, 65536):
    received += data
    while b"\\0" in received:
        text, received = received.split(b"\\0", 1)
        command = json.loads(text)
        answer = {"id": command["id"], "result": {"targetId": "t", "sessionId": "s"}}
        if command["method"] == "Page.refuse":
            answer = {"id": command["id"], "error": {"message": "no such thing"}}
        if command["method"] == "Page.navigate":
            event = {"method": "Page.loadEventFired", "params": {}}
            os.write(4, json.dumps(event).encode() + b"\\0")
        if command["method"] == "Page.crash":
            raise SystemExit
        reply = json.dumps(answer).encode() + b"\\0"
        os.write(4, reply[:5])
        os.write(4, reply[5:])
        if command["method"] == "Browser.close":
            raise SystemExit
"""
SILENT = "import time\ntime.sleep(60)\n"
ENDED = ""


@pytest.fixture
def stand_in(tmp_path):
    def write(script):
        path = tmp_path / "browser"
        path.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    return write


def is_running(process_id):
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_commands_are_answered_and_events_are_kept(stand_in):
    with Browser(stand_in(ANSWERING)) as browser:
        assert browser.call("Page.enable") == {"targetId": "t", "sessionId": "s"}
        browser.call("Page.navigate", url="about:blank")
        assert browser.wait("Page.loadEventFired") == browser.events[0]
        with pytest.raises(BrowserError, match=r"Page.refuse: no such thing"):
            browser.call("Page.refuse")
        with pytest.raises(BrowserError, match=r"no answer to Page.nothing within 0.05 s"):
            browser.wait("Page.nothing", 0.05)
    assert not is_running(browser.process_id)
    assert not Path(browser._profile.name).exists()


def test_a_browser_that_ends_is_an_error(stand_in):
    with Browser(stand_in(ANSWERING)) as browser, pytest.raises(BrowserError, match="ended"):
        browser.call("Page.crash")


def test_a_browser_that_does_not_start_is_an_error(tmp_path, stand_in):
    with pytest.raises(BrowserError, match="cannot be started: No such file"):
        Browser(str(tmp_path / "none")).__enter__()
    with pytest.raises(BrowserError, match="the browser ended"):
        Browser(stand_in(ENDED)).__enter__()


def test_a_silent_browser_is_given_up_and_killed(monkeypatch, stand_in):
    monkeypatch.setattr(devtools, "START_SECONDS", 0.2)
    monkeypatch.setattr(devtools, "END_SECONDS", 0.1)
    browser = Browser(stand_in(SILENT))
    started = time.monotonic()
    with pytest.raises(BrowserError, match=r"Target.createTarget within 0.2 s"):
        browser.__enter__()
    assert time.monotonic() - started < 5
    assert not is_running(browser.process_id)


def test_the_browser_is_looked_for_on_the_path(monkeypatch, tmp_path, stand_in):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    os.rename(stand_in(SILENT), tmp_path / "google-chrome")
    assert find_browser() == str(tmp_path / "google-chrome")


PAGES = {
    "good.html": '<p class="math">\\(a\\)</p><mjx-container>a</mjx-container>',
    "request.html": '<img src="http://example.org/x.png">',
    "throws.html": "<script>null.x</script>",
    "promise.html": '<script>Promise.reject(new Error("later"))</script>',
    "console.html": '<script>console.error("out of", 7)</script>',
    "missing.html": '<script src="none.js"></script>',
    "unrendered.html": '<p class="math">\\(a\\)</p><p class="math">\\(b\\)</p>',
    "merror.html": '<p class="math"><mjx-container><mjx-merror data-mjx-error="Undefined">'
    "</mjx-merror></mjx-container></p>",
    "late.html": '<p class="math"></p><script>MathJax = {startup: {promise: new Promise(done => '
    'setTimeout(() => { document.body.append(document.createElement("mjx-container")); done() },'
    "300))}}</script>",
    "cut.html": '<div id="eq-long" class="math"><mjx-container display="true" style="display: block; '
    'overflow: auto; width: 200px"><mjx-math style="display: inline-block; width: 300px">a</mjx-math>'
    "</mjx-container></div>",
    "wide.html": '<p class="broad" style="width: 500px">text</p>',
}
FINDINGS = [
    "console.html: console error: out of 7",
    "cut.html: formula wider than its box at 390 px: eq-long",
    "merror.html: formula with an error: Undefined",
    "missing.html: console error: Failed to load resource",
    "promise.html: script error: Error: later",
    "request.html: request to http://example.org/x.png",
    "request.html: console error: Failed to load resource",
    "throws.html: script error: TypeError",
    "unrendered.html: 0 of 2 formulas rendered",
    "wide.html: wider than 390 px: p.broad",
    "unrendered.html: opened as a file: 0 of 2 formulas rendered",
]

if find_browser():

    def test_every_fault_is_found_in_a_real_browser(tmp_path):
        head = '<!doctype html><html lang="en"><link rel="icon" href="data:,">'
        for name, body in PAGES.items():
            (tmp_path / name).write_text(f"{head}<body>{body}", encoding="utf-8")
        (tmp_path / "index.html").write_text(
            '<meta http-equiv="refresh" content="0; url=good.html">'
        )
        found = check(tmp_path, find_browser())
        for line, expected in zip(found, FINDINGS, strict=True):
            assert line.startswith(expected)

    def test_an_undefined_macro_is_found(tmp_path):
        for _ in mathjax.copy(mathjax.installed(), tmp_path):
            pass
        (tmp_path / "index.html").write_text(
            '<!doctype html><html lang="en"><link rel="icon" href="data:,"><body>'
            f"<script>MathJax = {json.dumps(mathjax.CONFIGURATION)}</script>"
            f'<script defer src="{mathjax.FOLDER}/{mathjax.COMPONENT}"></script>'
            '<p class="math">\\(\\alpha\\)</p><p class="math">\\(x + \\alpah\\)</p>',
            encoding="utf-8",
        )
        finding = "formula with an error: Undefined control sequence \\alpah"
        assert check(tmp_path, find_browser()) == [
            f"index.html: {finding}",
            f"index.html: opened as a file: {finding}",
        ]


def test_there_is_a_browser_on_ci():
    assert find_browser() or os.environ.get("CI") != "true"
