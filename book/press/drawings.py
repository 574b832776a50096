"""Which SVG drawings may stand on a page: shapes and text, nothing that runs or loads."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

__all__ = ["drawing_faults", "without_pictures"]

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {
    *("circle", "clipPath", "defs", "desc", "ellipse", "g", "image", "line", "linearGradient"),
    *("marker", "mask", "metadata", "path", "pattern", "polygon", "polyline", "radialGradient"),
    *("rect", "stop", "style", "svg", "symbol", "text", "title", "tspan", "use"),
}
# the namespaces of the notes that matplotlib writes into <metadata>
NOTES = (
    "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}",
    "{http://purl.org/dc/elements/1.1/}",
    "{http://creativecommons.org/ns#}",
)
DECLARED = re.compile(r"<!(?:ENTITY|ATTLIST|ELEMENT)|<\?xml-stylesheet")
PICTURE = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")
LOADED = re.compile(r"@import|url\(\s*['\"]?(?!#)", re.IGNORECASE)


def without_pictures(svg: str) -> str:
    """The drawing's text without the bytes of the PNG pictures in it."""
    return PICTURE.sub("", svg)


def drawing_faults(svg: str) -> Iterator[str]:
    """One sentence for each part of the drawing that could run or load something."""
    if found := DECLARED.search(svg):
        yield f"the drawing has a declaration {found[0]}"
        return
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        yield f"the drawing is not XML: {error}"
        return
    if root.tag != f"{SVG}svg":
        yield f"the drawing is not SVG but {root.tag}"
    for element in root.iter():
        tag = element.tag.removeprefix(SVG)
        if tag not in SHAPES and not tag.startswith(NOTES):
            yield f"the drawing contains the element {tag}"
        if LOADED.search(element.text or ""):
            yield f"the drawing loads something in {tag}"
        yield from _attribute_faults(tag, element.attrib)


def _attribute_faults(tag: str, attributes: dict[str, str]) -> Iterator[str]:
    for key, value in attributes.items():
        name = key.rpartition("}")[2].lower()
        if name.startswith("on"):
            yield f"the drawing has the handler {name} on {tag}"
        if name in ("href", "src") and not (value.startswith("#") or PICTURE.fullmatch(value)):
            yield f"the drawing refers to {value[:60]!r}"
        if LOADED.search(value):
            yield f"the drawing loads something in {tag}"
