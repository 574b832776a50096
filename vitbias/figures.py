"""One style for every figure, and one call that gives its data, its drawing and its words together.

``show`` draws from the very table that it publishes: the values are rounded first, written as CSV, and only
then handed to the drawing function. The output of a cell holds the drawing (SVG), the data (CSV) and a line
of text with the alternative text and the digest of the data, so a re-execution that computes other data is
seen although drawings are not compared byte by byte. Nothing is written to disk here.

The seven places where a pipeline can put its bias have one hue each, after the palette of Okabe and Ito.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vitbias.arrays import require_array
from vitbias.errors import (
    Literal,
    MissingExtraError,
    ShapeError,
    ValuesError,
    describe,
    require_instance,
    require_number,
    require_sequence,
)
from vitbias.formatting import fmt
from vitbias.photographs import Photograph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CONTEXT", "HUES", "INK", "WIDTH_INCHES", "csv_text", "digest", "show", "show_pictures"]

Data: TypeAlias = Mapping[str, Sequence[Any]]

HUES = {
    "patch projection": "#0072b2",
    "position": "#c17e00",
    "connectivity": "#008c5d",
    "hierarchy": "#c0719f",
    "teacher": "#bb4900",
    "data": "#1e95ca",
    "optimiser": "#75478b",
}
INK = "#24292f"
CONTEXT = "#8a9199"
PICTURE_INK = "#777777"  # legible on a white and on a near-black page
WIDTH_INCHES = 420 / 72  # 560 px: type keeps a readable size on a phone
ROUNDED_DIGITS = 6
NAME = re.compile(r"fig-[a-z0-9]+(-[a-z0-9]+)*")
HEIGHTS = (0.2, 100.0)  # inches; outside matplotlib warns or fails

STYLE: Any = {
    "svg.fonttype": "path",
    "svg.hashsalt": "vitbias",
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "axes.edgecolor": CONTEXT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": CONTEXT,
    "ytick.color": CONTEXT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "savefig.transparent": True,
    "figure.constrained_layout.use": True,
}


def show(
    draw: "Callable[[Figure, dict[str, list[Any]]], None]",
    data: Data,
    *,
    name: str,
    alt: str,
    caption: str,
    height: float = 2.9,
    photographs: Sequence[Photograph] = (),
) -> None:
    """Display one figure with its data, alternative text and caption.

    Parameters
    ----------
    draw : receives an empty matplotlib figure and the rounded columns, and draws
    data : column name to values; all columns of one length
    name : "fig-…", unique in the book; also the stem of the SVG and CSV files
    alt : what is seen, 30 to 300 characters
    caption : MyST text; first what the figure says, then how to read it, then what it does not show
    height : inches, 0.2 to 100; the width is 560 px
    photographs : those that the figure is made from; their credits end the caption

    Raises
    ------
    ShapeError : columns of different lengths, or none
    ValuesError : a value that cannot be written, an alternative text too short or too long, or an argument
        of another kind
    """
    rounded = _rounded(data)
    _display(draw, rounded, name, alt, caption, height, photographs, "chart")


def show_pictures(
    pictures: Mapping[str, Any],
    *,
    name: str,
    alt: str,
    caption: str,
    photographs: Sequence[Photograph] = (),
) -> None:
    """Display labelled 8-bit pictures in one row; the data are their sizes and digests.

    Parameters
    ----------
    pictures : label to (H, W, 3) or (H, W, 1) values in 0…255
    name, alt, caption, photographs : as for ``show``

    Raises
    ------
    ShapeError, ValuesError
    """
    if not isinstance(pictures, Mapping) or not pictures:
        raise ShapeError("pictures", expected="a mapping of labels to pictures", got=pictures)
    arrays = {_text("label", label): _eight_bit(label, item) for label, item in pictures.items()}
    data = {
        "picture": list(arrays),
        "height_px": [array.shape[0] for array in arrays.values()],
        "width_px": [array.shape[1] for array in arrays.values()],
        "sha256": [sha256(array.tobytes()).hexdigest()[:16] for array in arrays.values()],
    }
    rounded = _rounded(data)

    def draw(figure: "Figure", _: dict[str, list[Any]]) -> None:
        panels = figure.subplots(1, len(arrays), squeeze=False).ravel()
        for panel, (label, array) in zip(panels, arrays.items(), strict=True):
            panel.axis("off")
            panel.imshow(array.squeeze(), cmap="gray", vmin=0, vmax=255, interpolation="none")
            panel.set_title(label, color=PICTURE_INK, parse_math=False)

    shapes = [array.shape for array in arrays.values()]
    tallest = max(shape[0] / shape[1] for shape in shapes)
    height = WIDTH_INCHES / len(arrays) * tallest + 0.3
    _display(draw, rounded, name, alt, caption, height, photographs, "picture")


def csv_text(data: Data) -> str:
    """The columns as CSV text, one header line, ``\\n`` at the end of each line.

    >>> csv_text({"width": [8, 48], "nullity": [40, 0]})
    'width,nullity\\n8,40\\n48,0\\n'

    Raises
    ------
    ShapeError, ValuesError
    """
    columns = _rounded(data)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def digest(data: Data) -> str:
    """First 16 hexadecimal digits of the SHA-256 of ``csv_text(data)``."""
    return sha256(csv_text(data).encode()).hexdigest()[:16]


def _display(
    draw: "Callable[[Figure, dict[str, list[Any]]], None]",
    data: dict[str, list[Any]],
    name: str,
    alt: str,
    caption: str,
    height: float,
    photographs: Sequence[Photograph],
    kind: str,
) -> None:
    if not callable(draw):
        raise ValuesError("draw", expected="a function of a figure and its data", got=draw)
    if not NAME.fullmatch(_text("name", name)):
        raise ValuesError(
            "name", expected="words in a-z and 0-9 after 'fig-', joined by '-'", got=name
        )
    _text("caption", caption)
    if not 30 <= len(_text("alt", alt)) <= 300:
        got = Literal(f"{len(alt)} characters")
        raise ValuesError("alt", expected="30 to 300 characters that say what is seen", got=got)
    low, high = HEIGHTS
    if not low <= require_number("height", height) <= high:
        raise ValuesError("height", expected=f"{low:g} to {high:g} inches", got=height)
    sources = [
        require_instance("photographs", item, Photograph)
        for item in require_sequence("photographs", photographs)
    ]
    try:
        from IPython.display import display
    except ImportError:
        raise _missing("IPython") from None
    credit = " ".join(photograph.credit for photograph in sources)
    display(  # type: ignore[no-untyped-call]
        {
            "image/svg+xml": _svg(draw, data, height),
            "text/csv": csv_text(data),
            "text/plain": f"{name}: {alt} [data sha256 {digest(data)}]",
        },
        metadata={
            "vitbias": {
                "name": name,
                "alt": alt,
                "caption": f"{caption} {credit}".strip(),
                "kind": kind,
            }
        },
        raw=True,
    )


def _svg(
    draw: "Callable[[Figure, dict[str, list[Any]]], None]",
    data: dict[str, list[Any]],
    height: float,
) -> str:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise _missing("matplotlib") from None
    out = io.StringIO()
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_INCHES, height))
        draw(figure, data)
        # no date and no version: the same data give the same bytes
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def _rounded(data: Data) -> dict[str, list[Any]]:
    if not isinstance(data, Mapping):
        raise ShapeError("data", expected="a mapping of names to columns", got=data)
    columns = {
        _text("name of a column", name): [
            _value(item) for item in require_sequence(f"column {describe(name)}", column)
        ]
        for name, column in data.items()
    }
    lengths = {name: len(column) for name, column in columns.items()}
    if not columns or len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ShapeError("data", expected="columns of one length, at least 1", got=lengths)
    return columns


def _value(item: Any) -> Any:
    """Numbers as Python numbers, floats rounded to what is printed; anything else as text."""
    if hasattr(item, "tolist"):
        item = item.tolist()
    text = fmt(item, ROUNDED_DIGITS)  # refuses what cannot be written
    if isinstance(item, float):
        return float(text)
    return item if isinstance(item, int) else _text("value", text, empty=True)


def _text(field: str, value: Any, *, empty: bool = False) -> str:
    """``value``, if it is text that can be stored as UTF-8."""
    if isinstance(value, str) and (empty or value.strip()):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValuesError(field, expected="text in Unicode", got=value) from None
        return value
    raise ValuesError(field, expected="text", got=value)


def _eight_bit(label: str, picture: Any) -> Any:
    field = f"picture {describe(label)}"
    array = require_array(field, picture, "height width channels")
    if array.shape[2] not in (1, 3):
        got = Literal(f"{array.shape[2]} channels")
        raise ShapeError(field, expected="1 or 3 channels", got=got)
    if array.dtype.kind == "f" or array.min() < 0 or array.max() > 255:
        got = Literal(f"{array.dtype} values from {array.min()} to {array.max()}")
        raise ValuesError(field, expected="integers in 0 to 255", got=got)
    return np.ascontiguousarray(array, dtype=np.uint8)


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(
        "vitbias.figures",
        expected=f"the package {package}",
        got=Literal("an environment without it"),
        hint="install vitbias[figures]",
    )
