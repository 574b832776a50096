"""Is the present site the one that today's files give? Two digests inside the site's folder tell.

One is of everything that the site is made from, the other of the site itself, so that a site that something
else has changed since is not taken for the built one.
"""

import json
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path

__all__ = ["inputs_digest", "is_current", "write_stamp"]

STAMP = ".stamp.json"
FOLDERS = ("book", "notebooks", "vitbias")
PASSED_OVER = {"__pycache__", ".ipynb_checkpoints"}


def inputs_digest(root: Path, *more: str) -> str:
    """SHA-256 of every file that a page can come from, the installed versions, and ``more``."""
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*")]
    files += [path for path in root.iterdir() if not path.name.startswith(".")]
    versions = sorted(f"{found.name}=={found.version}" for found in distributions())
    return _digest(root, files, [sys.version, *versions, *more])


def is_current(site: Path, inputs: str) -> bool:
    """True if ``site`` was built from these inputs and has not changed since."""
    try:
        stamp = json.loads((site / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(stamp == {"inputs": inputs, "site": _site_digest(site)})


def write_stamp(site: Path, inputs: str) -> None:
    """Leave in ``site`` what ``is_current`` compares."""
    stamp = {"inputs": inputs, "site": _site_digest(site)}
    (site / STAMP).write_text(json.dumps(stamp) + "\n", encoding="utf-8")


def _site_digest(site: Path) -> str:
    return _digest(site, [path for path in site.rglob("*") if path != site / STAMP], [])


def _digest(folder: Path, files: Iterable[Path], more: Iterable[str]) -> str:
    whole = sha256()
    for path in sorted(files):
        if path.is_file() and not PASSED_OVER & set(path.relative_to(folder).parts):
            name = path.relative_to(folder).as_posix()
            whole.update(f"{name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    for line in more:
        whole.update(f"{line}\n".encode())
    return whole.hexdigest()
