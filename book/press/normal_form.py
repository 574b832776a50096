"""One normal form for the notebooks, so that a diff shows what changed and nothing else.

A notebook here is the decoded JSON of an ``.ipynb`` file. Text is kept as a list of lines, as
Jupyter keeps it; ``text`` joins it. ``normalise`` is pure and idempotent.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

__all__ = [
    "Figure",
    "Notebook",
    "NotebookError",
    "dump",
    "figures_of",
    "load",
    "normalise",
    "text",
]

Notebook: TypeAlias = dict[str, Any]

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# what an author may set on a cell by hand; alternative text and caption come from the figure itself
HAND_SET = ("code_prompt_hide", "code_prompt_show")


class NotebookError(ValueError):
    """A notebook that cannot be read or executed; the message names it."""


@dataclass(frozen=True)
class Figure:
    """What ``vitbias.figures.show`` put into one output; ``kind`` is "chart" or "picture"."""

    name: str
    alt: str
    caption: str
    kind: str
    svg: str
    csv: str
    plain: str

    @property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the data."""
        return sha256(self.csv.encode()).hexdigest()[:16]


def text(value: str | list[str]) -> str:
    """Source or output as one string, however it is stored."""
    return value if isinstance(value, str) else "".join(value)


def load(path: Path) -> Notebook:
    """The notebook in ``path``.

    Raises
    ------
    NotebookError : the file is not JSON, or not a notebook of format 4
    """
    try:
        nb = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NotebookError(f"{path.name}: expected JSON in UTF-8, got an error: {error}") from None
    if not (isinstance(nb, dict) and nb.get("nbformat") == 4 and isinstance(nb.get("cells"), list)):
        raise NotebookError(f"{path.name}: expected a notebook of format 4, got other JSON")
    try:
        normalise(nb)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotebookError(
            f"{path.name}: expected a notebook of format 4, got cells that are none: {error!r}"
        ) from None
    return nb


def dump(nb: Notebook) -> str:
    """The text of the file: keys in order, one space of indentation, a newline at the end."""
    return json.dumps(nb, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def normalise(nb: Notebook) -> Notebook:
    """``nb`` in normal form.

    Fixed metadata without versions; ids that follow from the cells' text, so that a new cell changes
    no other; no empty cells, timings or stray cell metadata; neighbouring pieces of one stream as
    one; for a cell that shows a figure, the alternative text, caption and label that the page needs.
    """
    cells: list[dict[str, Any]] = []
    taken: set[str] = set()
    for cell in nb["cells"]:
        source = text(cell["source"]).replace("\r\n", "\n").lstrip("\n").rstrip()
        if source:
            cells.append(_cell(cell, source, _new_id(cell["cell_type"], source, taken)))
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def figures_of(cell: dict[str, Any]) -> list[Figure]:
    """The complete figures among a code cell's outputs."""
    return [figure for output in cell.get("outputs", []) if (figure := _figure(output))]


def _figure(output: dict[str, Any]) -> Figure | None:
    about, data = output.get("metadata", {}).get("vitbias"), output.get("data", {})
    if not (isinstance(about, dict) and set(about) == {"name", "alt", "caption", "kind"}):
        return None
    if set(data) != {"image/svg+xml", "text/csv", "text/plain"}:
        return None
    svg, csv, plain = (text(data[kind]) for kind in sorted(data))
    return Figure(**about, svg=svg, csv=csv, plain=plain)


def _cell(cell: dict[str, Any], source: str, name: str) -> dict[str, Any]:
    normal: dict[str, Any] = {
        "cell_type": cell["cell_type"],
        "id": name,
        "metadata": _metadata(cell),
        "source": source.splitlines(keepends=True),
    }
    if "attachments" in cell:
        normal["attachments"] = cell["attachments"]
    if cell["cell_type"] == "code":
        count = cell.get("execution_count")
        normal["execution_count"] = count
        normal["outputs"] = [_output(output, count) for output in _joined(cell.get("outputs", []))]
    return normal


def _new_id(kind: str, source: str, taken: set[str]) -> str:
    stem = name = sha256(f"{kind}\n{source}".encode()).hexdigest()[:8]
    repeat = 1
    while name in taken:
        repeat += 1
        name = f"{stem}-{repeat}"
    taken.add(name)
    return name


def _metadata(cell: dict[str, Any]) -> dict[str, Any]:
    stored = cell.get("metadata", {})
    page = {key: stored["mystnb"][key] for key in HAND_SET if key in stored.get("mystnb", {})}
    for figure in figures_of(cell)[:1]:
        links = (
            f"[Drawing (SVG)](figures/{figure.name}.svg), [data (CSV)](figures/{figure.name}.csv)."
        )
        caption = " ".join([*figure.caption.split(), links])
        page["image"] = {"alt": figure.alt}
        page["figure"] = {"caption": caption, "classes": figure.kind, "name": figure.name}
    metadata: dict[str, Any] = {"mystnb": page} if page else {}
    if stored.get("tags"):
        metadata["tags"] = sorted(set(stored["tags"]))
    return metadata


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs with neighbouring pieces of the same stream put together."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        stream = output["output_type"] == "stream"
        if stream and last.get("output_type") == "stream" and last["name"] == output["name"]:
            joined[-1] = {**last, "text": text(last["text"]) + text(output["text"])}
        else:
            joined.append(output)
    return joined


def _output(output: dict[str, Any], count: int | None) -> dict[str, Any]:
    kind = output["output_type"]
    if kind == "stream":
        lines = text(output["text"]).splitlines(keepends=True)
        return {"output_type": kind, "name": output["name"], "text": lines}
    if kind == "error":
        return {key: output[key] for key in ("output_type", "ename", "evalue", "traceback")}
    data = {
        mime: text(value).splitlines(keepends=True) if isinstance(value, str | list) else value
        for mime, value in output["data"].items()
    }
    normal = {"output_type": kind, "data": data, "metadata": output.get("metadata", {})}
    if kind == "execute_result":
        normal["execution_count"] = count
    return normal
