"""One run of Jupyter Book, from scratch, in which every warning counts as an error."""

import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from itertools import dropwhile
from pathlib import Path

from press.status import ENVIRONMENT, TO_MEND, BuildError
from press.trim import trim

__all__ = ["make_pages"]

# the same on every day, for whatever writes a date
SOURCE_DATE_EPOCH = "1767225600"
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"
MOST_SECONDS = 900.0
SHOWN_LINES = 40
TRACEBACK = "Traceback (most recent call last):"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
NOISE = (
    "Running Jupyter-Book",
    "Source Folder:",
    "Config Path:",
    "Output Path:",
    "Building your book, returns",
    "=====",
)


def make_pages(root: Path, folder: Path, lock: int) -> Path:
    """Build the pages of the repository ``root`` inside ``folder``; returns where they are.

    Parameters
    ----------
    root : the repository
    folder : an empty folder
    lock : a file descriptor that Jupyter Book inherits: were this process killed, the lock would
        last until Jupyter Book has ended too

    Raises
    ------
    BuildError : with the warnings and errors of Sphinx
    """
    if find_spec("jupyter_book") is None:
        raise BuildError(ENVIRONMENT, "jupyter-book is not installed; `make book` installs it")
    options = ["--path-output", str(folder), "-q", "-n", "-W", "--keep-going"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH, "NO_COLOR": "1"}
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", JUPYTER_BOOK, "build", str(root), *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=[lock],
            start_new_session=True,
        )
        try:
            failed = process.wait(MOST_SECONDS) != 0
        except subprocess.TimeoutExpired:
            raise BuildError(TO_MEND, f"no end of the build after {MOST_SECONDS:g} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if failed:
        said = log.read_text(encoding="utf-8", errors="replace").replace(f"{root}{os.sep}", "")
        raise BuildError(
            TO_MEND, "the pages have errors; the previous site stays:", *_essence(said)
        )
    site = folder / "_build" / "html"
    trim(site)
    return site


def _essence(log: str) -> list[str]:
    """The warnings and errors of a Sphinx run; its last lines where there are none.

    Where there is nothing but a call stack, the exception at its end.
    """
    # the call stack of Jupyter Book ends every failed build
    said, _, stack = COLOUR.sub("", log).partition(TRACEBACK)
    lines = [line.strip() for line in said.splitlines()]
    lines = [line for line in lines if line and not line.startswith(NOISE)]
    lines = lines or _exception(stack)
    told = [line for line in lines if ": WARNING: " in line or ": ERROR: " in line]
    return list(dict.fromkeys(told or lines[-SHOWN_LINES:]))[:SHOWN_LINES]


def _exception(stack: str) -> list[str]:
    """The last exception of a call stack, in whose lines the frames alone are indented."""
    frames_and_message = stack.rpartition(TRACEBACK)[2].lstrip("\n").splitlines()
    message = dropwhile(lambda line: not line.strip() or line[0].isspace(), frames_and_message)
    return [line.strip() for line in message if re.search(r"\w", line)]
