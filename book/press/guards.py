"""What a committed notebook must look like; nbval alone is no proof.

nbval passes a notebook whose outputs were stripped, whose cells are all tagged to be skipped, or
whose pictures were replaced. These guards close the gaps and keep out what does not belong on a page.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from markdown_it import MarkdownIt
from nbformat.validator import iter_validate

from press.drawings import drawing_faults, without_pictures
from press.evidence import COMPARED, asserts, claim_faults, comment_faults
from press.normal_form import Figure, Notebook, figures_of, normalise, text
from vitbias.figures import NAME as FIGURE_NAME

__all__ = ["clashes", "violations"]

MOST_COLUMNS, MOST_LINES = 72, 25
SHORTEST_ALT, LONGEST_ALT = 30, 300
MOST_DIGITS = 12
# tags that hide code, never an output for good
TAGS = {"hide-cell", "hide-input", "hide-output", "remove-input"}
# a page shows these in the place of plain text
RICHER = {"image/svg+xml", "text/latex", "text/markdown"}
OUTPUT_TYPES = COMPARED | {"image/svg+xml"}
KINDS = {"chart", "picture"}
NBVAL = re.compile(r"#\s*(NBVAL_\w+|PYTEST_VALIDATE\w*)")
FLOAT = re.compile(r"[\d,]*\.\d+")
SCRIPT = re.compile(r"<\s*(script|iframe|object|embed)\b|javascript:", re.IGNORECASE)

Patterns: TypeAlias = "tuple[tuple[re.Pattern[str], str], ...]"
PATH = "a path of one machine"
NOWHERE: Patterns = (
    (re.compile(r"(?<![\w.])/(?:home|root|tmp|Users)/|[A-Za-z]:\\+Users\b"), PATH),
    (re.compile(r"(?:site|dist)-packages|ipykernel_\d+"), PATH),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}"), "a memory address"),
    (re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b"), "a date"),
)
NOT_SHOWN: Patterns = (
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "a time of day"),
    (re.compile(r"\bnp\.(?:float|int|uint|bool|str|complex|True_|False_)"), "a NumPy repr"),
)


def violations(nb: Notebook, name: str) -> list[str]:
    """One sentence for each rule that the notebook breaks, with the number of the cell.

    Cells are counted from 1 and Markdown cells are counted too.
    """
    invalid = iter_validate(nb)  # type: ignore[no-untyped-call]
    found = [f"{name}: not a valid notebook: {error.message}." for error in invalid]
    if normalise(nb) != nb:
        found.append(f"{name}: not in normal form; `make notebooks` writes it.")
    for position, cell in enumerate(nb["cells"], start=1):
        found += [f"{name}, cell {position}: {fault}." for fault in _cell_faults(cell)]
    counts = [cell.get("execution_count") for cell in nb["cells"] if cell["cell_type"] == "code"]
    if counts != list(range(1, len(counts) + 1)):
        shown = ", ".join(str(count) for count in counts)
        found.append(f"{name}: code cells must be executed in order from 1, got {shown or 'none'}.")
    if not any(asserts(cell) for cell in nb["cells"]):
        found.append(f"{name}: the notebook asserts nothing.")
    return found + [f"{name}{fault}." for fault in claim_faults(nb)]


def clashes(notebooks: Mapping[str, Notebook]) -> list[str]:
    """One sentence for each figure name or alternative text that the book uses twice."""
    figures = [
        (name, figure)
        for name, nb in notebooks.items()
        for cell in nb["cells"]
        for figure in figures_of(cell)
    ]
    found = []
    for what, key in (("figure name", "name"), ("alternative text", "alt")):
        uses = Counter(getattr(figure, key) for _, figure in figures)
        for value in (value for value, count in uses.items() if count > 1):
            places = ", ".join(name for name, figure in figures if getattr(figure, key) == value)
            found.append(f"{places}: the {what} {value!r} is used {uses[value]} times.")
    return found


def _cell_faults(cell: dict[str, Any]) -> Iterator[str]:
    source = text(cell["source"])
    yield from _matches(NOWHERE, source, "the source")
    if unknown := sorted(set(cell["metadata"].get("tags", [])) - TAGS):
        yield f"tag {', '.join(unknown)} is not one of {', '.join(sorted(TAGS))}"
    if cell["cell_type"] == "code":
        yield from _code_faults(source)
        yield from _figure_faults(cell)
        for output in cell.get("outputs", []):
            yield from _output_faults(output)
    elif cell["cell_type"] == "markdown":
        if SCRIPT.search(source):
            yield "Markdown must not contain scripts or embedded pages"
        if "attachments" in cell:
            yield "Markdown must not carry attachments"
    else:
        yield f"cell type {cell['cell_type']} is neither code nor markdown"


def _code_faults(source: str) -> Iterator[str]:
    lines = source.splitlines()
    if len(lines) > MOST_LINES:
        yield f"{len(lines)} lines of code, more than {MOST_LINES}"
    for number, line in enumerate(lines, start=1):
        if len(line) > MOST_COLUMNS:
            yield f"line {number} has {len(line)} columns, more than {MOST_COLUMNS}"
    if found := NBVAL.search(source):
        yield f"{found[1]} excludes the cell from comparison"
    yield from comment_faults(source)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        yield f"not plain Python: {error.msg} in line {error.lineno}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant | ast.Tuple):
            yield f"the assert in line {node.lineno} cannot fail"


def _output_faults(output: dict[str, Any]) -> Iterator[str]:
    kind = output["output_type"]
    if kind == "error":
        yield f"an error output ({output['ename']}); catch the error and print its text"
    elif kind == "stream":
        if output["name"] != "stdout":
            yield f"output on {output['name']}: {text(output['text']).strip()[:100]!r}"
        yield from _text_faults(text(output["text"]), "the printed text")
        yield from _width_faults(text(output["text"]), "the printed text")
    else:
        if unknown := sorted(set(output["data"]) - OUTPUT_TYPES):
            yield f"output type {', '.join(unknown)} is not one of {', '.join(sorted(OUTPUT_TYPES))}"
        for mime in sorted(COMPARED & set(output["data"])):
            yield from _text_faults(text(output["data"][mime]), mime)
        if not RICHER & set(output["data"]):
            yield from _width_faults(text(output["data"].get("text/plain", "")), "text/plain")
        if SCRIPT.search(text(output["data"].get("text/markdown", ""))):
            yield "text/markdown must not contain scripts or embedded pages"
        if set(output["metadata"]) - {"vitbias"}:
            yield "an output carries metadata that vitbias.figures.show did not make"


def _text_faults(value: str, where: str) -> Iterator[str]:
    yield from _matches(NOWHERE + NOT_SHOWN, value, where)
    numbers = FLOAT.findall(value)
    long = [x for x in numbers if len(re.sub(r"[,.]", "", x).lstrip("0")) > MOST_DIGITS]
    if long:
        yield f"{where} shows {long[0]}, more than {MOST_DIGITS} digits; use vitbias.formatting.fmt"


def _width_faults(value: str, where: str) -> Iterator[str]:
    for number, line in enumerate(value.splitlines(), start=1):
        if len(line) > MOST_COLUMNS:
            yield f"line {number} of {where} has {len(line)} columns, more than {MOST_COLUMNS}"


def _matches(patterns: Patterns, value: str, where: str) -> Iterator[str]:
    for pattern, what in patterns:
        if found := pattern.search(value):
            yield f"{where} contains {what}: {found[0]!r}"


def _figure_faults(cell: dict[str, Any]) -> Iterator[str]:
    shown = [output for output in cell.get("outputs", []) if "data" in output]
    drawn = [out for out in shown if "image/svg+xml" in out["data"] or "vitbias" in out["metadata"]]
    figures = figures_of(cell)
    if len(figures) != len(drawn):
        yield "a picture was not made by vitbias.figures.show"
    if figures and len(shown) > 1:
        yield f"a cell that shows a figure shows nothing else, got {len(shown)} outputs"
    for figure in figures:
        yield from _one_figure_faults(figure)


def _one_figure_faults(figure: Figure) -> Iterator[str]:
    if not FIGURE_NAME.fullmatch(figure.name):
        yield f"figure name {figure.name!r} must look like 'fig-some-words'"
    if figure.kind not in KINDS:
        yield f"{figure.name} is a {figure.kind!r}, not one of {', '.join(sorted(KINDS))}"
    if not SHORTEST_ALT <= len(figure.alt) <= LONGEST_ALT:
        yield (
            f"the alternative text of {figure.name} has {len(figure.alt)} characters, "
            f"expected {SHORTEST_ALT} to {LONGEST_ALT}"
        )
    blocks = [token.type for token in MarkdownIt("commonmark").parse(figure.caption)]
    if blocks != ["paragraph_open", "inline", "paragraph_close"]:
        yield f"the caption of {figure.name} must be one paragraph"
    if figure.plain != f"{figure.name}: {figure.alt} [data sha256 {figure.digest}]":
        yield f"the line of {figure.name} must give its name, its text and the digest {figure.digest}"
    yield from (f"{figure.name}: {fault}" for fault in drawing_faults(figure.svg))
    yield from _matches(NOWHERE, without_pictures(figure.svg), f"the drawing of {figure.name}")
