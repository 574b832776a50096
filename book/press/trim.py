"""Leave out what the theme ships and no reader of the site uses, and keep one copy of every drawing.

Source maps serve whoever debugs the theme, its translations serve sites in other languages, and its older
format of icon fonts serves browsers that no longer exist. Sphinx copies a drawing once to be shown and once
to be downloaded; the page can show the second.
"""

import re
import shutil
from pathlib import Path

__all__ = ["trim"]

# a browser's tools would ask for the map
POINTER = re.compile(rb"\n?(?://# sourceMappingURL=\S+|/\*# sourceMappingURL=\S+ ?\*/)\s*\Z")
OLD_FONT = re.compile(rb",\s*url\([^()]+\.ttf\)\s*format\(\"truetype\"\)")
SHOWN = re.compile(r"(?<=[\"'/])_images/([^\"'/<> ]+\.svg)")


def trim(site: Path) -> int:
    """Make the built site ``site`` smaller without changing what it shows; returns the bytes saved."""
    before = _size(site)
    _trim_theme(site / "_static")
    _show_downloads(site)
    return before - _size(site)


def _trim_theme(static: Path) -> None:
    for path in static.rglob("*.map"):
        path.unlink()
    for path in (*static.rglob("*.js"), *static.rglob("*.css")):
        content = path.read_bytes()
        shorter = OLD_FONT.sub(b"", POINTER.sub(b"\n", content))
        if shorter != content:
            path.write_bytes(shorter)
    styles = b"".join(path.read_bytes() for path in static.rglob("*.css"))
    for path in static.rglob("*.ttf"):
        if path.name.encode() not in styles:
            path.unlink()
    if (static / "locales").is_dir():
        shutil.rmtree(static / "locales")


def _show_downloads(site: Path) -> None:
    """Pages show the downloadable copy of a drawing, and the copy that was only shown goes."""
    downloads = {path.read_bytes().strip(): path for path in site.glob("_downloads/*/*.svg")}
    twice = {
        path.name: downloads[content].relative_to(site).as_posix()
        for path in site.glob("_images/*.svg")
        if (content := path.read_bytes().strip()) in downloads
    }
    if twice:
        for page in site.rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            new = SHOWN.sub(lambda found: twice.get(found[1], found[0]), text)
            if new != text:
                page.write_text(new, encoding="utf-8")
    for name in twice:
        (site / "_images" / name).unlink()


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
