"""What a built page, style sheet or drawing refers to, read with the standard library's HTML parser."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Image", "Page", "css_references", "read_page"]

LOADING_ATTRIBUTES = {"src", "srcset", "poster", "background", "action", "formaction"}
LOADING_RELATIONS = {
    "apple-touch-icon",
    "dns-prefetch",
    "icon",
    "manifest",
    "modulepreload",
    "preconnect",
    "prefetch",
    "preload",
    "stylesheet",
}
# The theme repeats the page's title for the printer; no screen or screen reader gets that copy.
PRINT_COPY = "jb-print-docs-body"
CSS_REFERENCE = re.compile(
    r"""url\(\s*(?P<quote>['"]?)(?P<url>.*?)(?P=quote)\s*\)|@import\s+['"](?P<imported>[^'"]+)""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Image:
    """An ``img`` element: where it comes from, and its alternative text (None if it has none)."""

    source: str
    alt: str | None


@dataclass
class Page:
    """The parts of a page that the checks look at."""

    language: str = ""
    redirect: str = ""
    headings: int = 0
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)


def css_references(text: str) -> list[str]:
    """Every address in a style sheet: ``url(...)`` and ``@import``."""
    matches = CSS_REFERENCE.finditer(text)
    return [match["url"] or match["imported"] or "" for match in matches]


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.print_depth = 0
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        page = self.page
        page.ids += [values["id"]] if "id" in values else []
        page.loads += css_references(values.get("style", ""))
        self.in_style = tag == "style"
        if tag == "html":
            page.language = values.get("lang", "")
        elif tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            page.redirect = values.get("content", "").partition("url=")[2]
        elif tag == "div" and (self.print_depth or values.get("id") == PRINT_COPY):
            self.print_depth += 1
        elif tag == "h1" and not self.print_depth:
            page.headings += 1
        elif tag == "img":
            page.images.append(Image(values.get("src", ""), values.get("alt")))
        self.read_addresses(tag, values)

    def read_addresses(self, tag: str, values: dict[str, str]) -> None:
        page = self.page
        for name in LOADING_ATTRIBUTES & values.keys():
            address = values[name]
            page.loads += (
                [candidate.split()[0] for candidate in address.split(",") if candidate.strip()]
                if name == "srcset"
                else [address]
            )
        if tag == "object" and "data" in values:
            page.loads.append(values["data"])
        for name in {"href", "xlink:href"} & values.keys():
            relations = set(values.get("rel", "").lower().split())
            follows = tag in {"a", "area"} or (tag == "link" and not relations & LOADING_RELATIONS)
            (page.links if follows else page.loads).append(values[name])

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False
        if tag == "div" and self.print_depth:
            self.print_depth -= 1

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.page.loads += css_references(data)


def read_page(text: str) -> Page:
    """Parse an HTML page, or an SVG drawing, whose references are written the same way."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader.page
