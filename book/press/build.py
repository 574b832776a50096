"""``make book``: build the site into a fresh folder, check it, and only then put it in place.

A build never starts from what an earlier one left: Sphinx forgets the warnings of documents that have not
changed, so that a failed build repeated would pass. A site that fails a check is thrown away and the previous
one stays as it was.

Exit status: 0 done · 1 something to mend in the book · 3 the environment · 75 another build is running ·
130 interrupted · 143 terminated.
"""

import argparse
import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from press import browser, check
from press.devtools import BrowserError, find_browser
from press.figure_files import file_violations
from press.freshness import notebook_paths, stale
from press.guards import clashes, violations
from press.normal_form import NotebookError, load
from press.pages import make_pages
from press.stamp import inputs_digest, is_current, write_stamp
from press.status import BUSY, ENVIRONMENT, INTERRUPTED, TERMINATED, TO_MEND, BuildError
from press.swap import restore, swap

__all__ = ["build", "main"]

FRESH = "new-"
ASIDE = "previous"
SHOWN_FINDINGS = 40


def build(root: Path) -> None:
    """Build the book of the repository ``root`` into its ``_build/html``.

    Raises
    ------
    BuildError : with the exit status and what to do
    """
    try:
        _check_notebooks(root)
    except NotebookError as error:
        raise BuildError(TO_MEND, str(error)) from None
    command = _browser_command()
    site = root / "_build" / "html"
    with _locked(site.parent) as lock:
        for leftover in site.parent.glob(f"{FRESH}*"):
            restore(leftover / ASIDE, site)
            shutil.rmtree(leftover, ignore_errors=True)
        inputs = inputs_digest(root, f"browser: {command is not None}")
        if is_current(site, inputs):
            _say(f"{site.relative_to(root)} is up to date")
            return
        with tempfile.TemporaryDirectory(prefix=FRESH, dir=site.parent) as folder:
            started = time.monotonic()
            new = make_pages(root, Path(folder), lock)
            _say(f"pages built in {time.monotonic() - started:.1f} s")
            _check(new, root, command)
            if inputs_digest(root, f"browser: {command is not None}") != inputs:
                raise BuildError(TO_MEND, "files changed during the build; build again")
            write_stamp(new, inputs)
            swap(new, site, Path(folder, ASIDE))
    _say(f"{site.relative_to(root)}/index.html is the book")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: ``python -m press.build [ROOT]``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="press.build", description="Build the book's site.")
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("root", nargs="?", type=Path, default=here, help="the repository")
    root = parser.parse_args(arguments).root.resolve()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        build(root)
    except BuildError as error:
        print(f"make book: {error}", file=sys.stderr)
        return error.status
    except OSError as error:
        print(f"make book: {error}", file=sys.stderr)
        return ENVIRONMENT
    except KeyboardInterrupt:
        print("make book: interrupted; the previous site is untouched", file=sys.stderr)
        return INTERRUPTED
    return 0


def _terminate(number: int, frame: FrameType | None) -> None:
    # leaves through the ``with`` blocks, which remove the unfinished folder
    raise SystemExit(TERMINATED)


def _say(line: str) -> None:
    print(f"book: {line}", flush=True)


def _browser_command() -> str | None:
    command = find_browser()
    if command is None:
        why = "no chromium, chromium-browser or google-chrome on the path"
        if os.environ.get("CI") == "true" or os.environ.get("VITBIAS_REQUIRE_BROWSER") == "1":
            raise BuildError(
                ENVIRONMENT, f"the checks in a browser are required, and there is {why}"
            )
        _say(f"the checks in a browser do not run: {why}")
    return command


def _check_notebooks(root: Path) -> None:
    if old := stale(root):
        what = "stored outputs are older than the code that they came from; run `make notebooks`:"
        raise BuildError(TO_MEND, what, *old)
    notebooks = {name: load(path) for name, path in notebook_paths(root).items()}
    found = [fault for name, nb in notebooks.items() for fault in violations(nb, name)]
    found += clashes(notebooks) + file_violations(notebooks, root / "notebooks" / "figures")
    if found:
        what = f"{len(found)} findings in the notebooks; the previous site stays:"
        raise BuildError(TO_MEND, what, *found[:SHOWN_FINDINGS])


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Hold the lock of the build folder; yields its file descriptor."""
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(
                BUSY, f"another build is running in {folder.name}/; wait for it"
            ) from None
        yield file.fileno()


def _check(site: Path, root: Path, command: str | None) -> None:
    started = time.monotonic()
    findings = check.check(site, root)
    if command is not None:
        try:
            findings += browser.check(site, command)
        except BrowserError as error:
            raise BuildError(
                ENVIRONMENT, f"the checks in a browser failed to run: {error}"
            ) from None
    if findings:
        what = f"{len(findings)} findings in the built pages; the previous site stays:"
        raise BuildError(TO_MEND, what, *findings[:SHOWN_FINDINGS])
    _say(f"checks passed in {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
