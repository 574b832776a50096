"""Leave out what the theme ships and no reader of the site uses: a third of its files by size.

Source maps serve whoever debugs the theme, its translations serve sites in other languages.
"""

import re
import shutil
from pathlib import Path

__all__ = ["trim"]

# a browser's tools would ask for the map
POINTER = re.compile(rb"\n?(?://# sourceMappingURL=\S+|/\*# sourceMappingURL=\S+ ?\*/)\s*\Z")


def trim(site: Path) -> int:
    """Remove source maps and translations from the built site's ``_static``; returns the bytes saved."""
    static = site / "_static"
    before = _size(static)
    for path in static.rglob("*.map"):
        path.unlink()
    for path in (*static.rglob("*.js"), *static.rglob("*.css")):
        content = path.read_bytes()
        if (shorter := POINTER.sub(b"\n", content)) != content:
            path.write_bytes(shorter)
    if (static / "locales").is_dir():
        shutil.rmtree(static / "locales")
    return before - _size(static)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
