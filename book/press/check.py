"""Static checks of a built site: ``check(site, root)`` returns one line for each finding.

Nothing is loaded from another host, no link or anchor is dead, ids are unique and the same in every
build, every image says in words what it shows, and no path of the building machine is printed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from press.page import Page, css_references, read_page

__all__ = ["check"]

ALT_LENGTH = range(30, 301)
FILE_NAME = re.compile(r"\S+\.\w{2,4}")
RANDOM_ID = re.compile(r"equation-[0-9a-f]{8}-")
MACHINE_PATH = re.compile(r"(?<![\w.])(?:/(?:home|root|tmp|Users|var/folders)|C:\\+Users)[/\\]+\w+")
FOLLOWED_SCHEMES = {"http", "https", "mailto"}
PRINTED = {".csv", ".html", ".ipynb", ".md", ".svg", ".txt"}


def check(site: Path, root: Path) -> list[str]:
    """One line for each finding in the pages, style sheets and drawings below ``site``.

    Parameters
    ----------
    site : folder with the built pages
    root : the repository; its path must not appear on a page
    """
    site = site.resolve()
    theme = site / "_static"
    files = sorted(path for path in site.rglob("*") if path.is_file())
    pages = {
        path: read_page(path.read_text(encoding="utf-8"))
        for path in files
        if path.suffix == ".html" and theme not in path.parents
    }
    findings = [] if site / "index.html" in pages else ["index.html: missing"]
    for path in files:
        name = path.relative_to(site).as_posix()
        findings += (f"{name}: {what}" for what in _file_findings(path, site, root, pages))
    return findings


def _file_findings(path: Path, site: Path, root: Path, pages: dict[Path, Page]) -> Iterator[str]:
    if page := pages.get(path):
        yield from _link_findings(path, page, site, pages)
        yield from _load_findings(path, page.loads, site)
        if not page.redirect:
            yield from _structure_findings(page)
    elif path.suffix == ".css":
        yield from _load_findings(path, css_references(path.read_text(encoding="utf-8")), site)
    elif path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        yield from _load_findings(path, read_page(text).loads, site)
        if "<script" in text.lower():
            yield "a drawing with a script"
    if path.suffix in PRINTED or path == site / "searchindex.js":
        text = path.read_text(encoding="utf-8")
        shown = {match[0] for match in MACHINE_PATH.finditer(text)}
        shown |= {str(root)} if str(root) in text else set()
        yield from (f"path of this machine: {found}" for found in sorted(shown))


def _structure_findings(page: Page) -> Iterator[str]:
    if not page.language:
        yield "no language on <html>"
    if page.headings != 1:
        yield f"{page.headings} first-level headings, expected 1"
    for name, times in sorted(Counter(page.ids).items()):
        if times > 1:
            yield f"id {name!r} stands {times} times"
        if RANDOM_ID.match(name):
            yield f"random id {name!r}; label the equation"
    for image in page.images:
        if image.alt is None or not image.alt.strip():
            yield f"image {image.source} without alternative text"
        elif FILE_NAME.fullmatch(image.alt):
            yield f"image {image.source}: the alternative text is a file name"
        elif len(image.alt) not in ALT_LENGTH:
            yield (
                f"image {image.source}: alternative text of {len(image.alt)} characters, expected "
                f"{ALT_LENGTH[0]} to {ALT_LENGTH[-1]}: {image.alt[:40]!r}"
            )


def _load_findings(path: Path, addresses: list[str], site: Path) -> Iterator[str]:
    """Whatever a browser would fetch by itself: on this site, and there."""
    for address in addresses:
        parts = urlsplit(address.strip())
        if parts.scheme == "data" or not (parts.scheme or parts.netloc or parts.path):
            continue
        if parts.scheme or parts.netloc:
            yield f"loads from another host: {address[:120]}"
        elif _target(path, parts.path, site) is None:
            yield f"loads a file that does not exist: {address[:120]}"


def _link_findings(path: Path, page: Page, site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for address in [*page.links, *([page.redirect] if page.redirect else [])]:
        parts = urlsplit(address.strip())
        if parts.scheme in FOLLOWED_SCHEMES and (parts.netloc or parts.scheme == "mailto"):
            continue
        if parts.scheme or parts.netloc:
            yield f"link that is neither local nor https: {address[:120]}"
            continue
        target = _target(path, parts.path, site) if parts.path else path
        if target is None:
            yield f"dead link: {address}"
        elif (
            target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].ids
        ):
            yield f"dead anchor: {address}"


def _target(path: Path, address: str, site: Path) -> Path | None:
    """The file that a relative address leads to; None if there is none below ``site``.

    An address from the root of a host is dead too: nobody knows where the site will lie.
    """
    if address.startswith("/"):
        return None
    target = Path(path.parent, unquote(address)).resolve()
    if target.is_dir():
        target /= "index.html"
    return target if target.is_file() and site in target.parents else None
