"""Data, drawing and words of a figure come from one call and agree."""

import builtins
import csv
import io
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vitbias import figures
from vitbias.errors import MissingExtraError, ShapeError, ValuesError
from vitbias.photographs import photograph

ALT = "A rising line from the lower left to the upper right corner."
Shown = list[tuple[dict[str, str], dict[str, Any]]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    caught: Shown = []

    def display(data: dict[str, str], *, metadata: dict[str, Any], raw: bool) -> None:
        assert raw
        caught.append((data, metadata))

    monkeypatch.setattr("IPython.display.display", display)
    return caught


def line(figure: Any, data: dict[str, list[Any]]) -> None:
    figure.subplots().plot(data["x"], data["y"])


def call(**changes: Any) -> None:
    arguments: dict[str, Any] = {
        "draw": line,
        "data": {"x": [1, 2, 3], "y": [0.1, 0.2, 2 / 3]},
        "name": "fig-line",
        "alt": ALT,
        "caption": "A line.",
    }
    figures.show(**{**arguments, **changes})


def test_one_bundle_with_drawing_data_and_words(shown: Shown) -> None:
    call()
    [(data, metadata)] = shown
    assert data["text/csv"] == "x,y\n1,0.1\n2,0.2\n3,0.666667\n"
    digest = sha256(data["text/csv"].encode()).hexdigest()[:16]
    assert data["text/plain"] == f"fig-line: {ALT} [data sha256 {digest}]"
    assert data["image/svg+xml"].lstrip().startswith("<?xml")
    assert metadata["vitbias"] == {
        "name": "fig-line",
        "alt": ALT,
        "caption": "A line.",
        "kind": "chart",
    }


def test_the_drawing_gets_the_rounded_data(shown: Shown) -> None:
    seen: list[dict[str, list[Any]]] = []
    call(draw=lambda figure, data: seen.append(data), data={"x": [np.float64(1 / 3)], "y": [2]})
    assert seen == [{"x": [0.333333], "y": [2]}]


def test_the_same_data_give_the_same_bytes(shown: Shown) -> None:
    call()
    call()
    assert shown[0] == shown[1]
    svg = shown[0][0]["image/svg+xml"]
    assert not re.search(r"<dc:date>|Matplotlib v|<script|href=\"http", svg)


def test_credits_end_the_caption(shown: Shown) -> None:
    call(photographs=[photograph("china"), photograph("flower")])
    caption = shown[0][1]["vitbias"]["caption"]
    assert caption.startswith("A line. Photograph: [china.jpg]")
    assert caption.count("CC BY 2.0") == 2


def test_pictures_publish_size_and_digest(shown: Shown) -> None:
    rng = np.random.default_rng(3)
    grey, colour = rng.integers(0, 256, (5, 7, 1)), rng.integers(0, 256, (11, 13, 3))
    figures.show_pictures({"grey": grey, "colour": colour}, name="fig-two", alt=ALT, caption="Two.")
    [(data, metadata)] = shown
    rows = list(csv.DictReader(io.StringIO(data["text/csv"])))
    assert [(r["picture"], r["height_px"], r["width_px"]) for r in rows] == [
        ("grey", "5", "7"),
        ("colour", "11", "13"),
    ]
    assert rows[1]["sha256"] == sha256(colour.astype(np.uint8).tobytes()).hexdigest()[:16]
    assert data["image/svg+xml"].count("<image") == 2
    assert metadata["vitbias"]["kind"] == "picture"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({}, ShapeError, "columns of one length"),
        ({"x": []}, ShapeError, "columns of one length"),
        ({"x": [1, 2], "y": [1]}, ShapeError, "columns of one length"),
        ({"x": [float("nan")]}, ValuesError, "finite"),
        ({"x": [1j]}, ValuesError, "number"),
        ({"x": [10**5000]}, ValuesError, "4,300 digits"),
        ({"x": ["\ud800"]}, ValuesError, "text in Unicode"),
        ({"x": 1}, ShapeError, "^column 'x': expected a sequence, got 1"),
        ({"x": "text"}, ShapeError, "^column 'x': expected a sequence, got 'text'"),
        ({1: [1]}, ValuesError, "^name of a column: expected text, got 1"),
        (None, ShapeError, "^data: expected a mapping of names to columns, got None"),
        ([1, 2], ShapeError, "^data: expected a mapping of names to columns"),
    ],
)
def test_bad_data_are_refused(data: Any, error: type[Exception], message: str) -> None:
    for function in (lambda data: call(data=data), figures.csv_text, figures.digest):
        with pytest.raises(error, match=message):
            function(data)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("draw", (None, "line")),
        ("name", (None, "", object(), "line", "fig-", "fig-A", "fig-a--b", "fig-a\n", 5)),
        ("alt", (None, "", 5, ALT + "\ud800")),
        ("caption", (None, "", 5)),
        ("height", (None, 0, -1, "x", float("nan"), float("inf"), True, 0.1, 101)),
    ],
)
def test_arguments_of_another_kind_are_refused(shown: Shown, field: str, values: Any) -> None:
    for value in values:
        with pytest.raises(ValuesError, match=rf"^{field}: expected "):
            call(**{field: value})
    assert not shown


@pytest.mark.parametrize("height", [0.2, 100])
def test_the_least_and_the_largest_height(shown: Shown, height: float) -> None:
    call(height=height, draw=lambda figure, data: None)
    assert len(shown) == 1


def test_photographs_are_a_sequence_of_photographs(shown: Shown) -> None:
    for value in (None, "x", photograph("china")):
        with pytest.raises(ShapeError, match=r"^photographs: expected a sequence, got "):
            call(photographs=value)
    with pytest.raises(ValuesError, match=r"^photographs: expected an instance of Photograph"):
        call(photographs=["china"])
    assert not shown


@pytest.mark.parametrize("pictures", [None, [], {}, [np.zeros((2, 3, 1), int)], "p"])
def test_pictures_are_a_mapping(shown: Shown, pictures: Any) -> None:
    with pytest.raises(ShapeError, match=r"^pictures: expected a mapping of labels to pictures"):
        figures.show_pictures(pictures, name="fig-p", alt=ALT, caption="P.")
    with pytest.raises(ValuesError, match=r"^label: expected text, got 5"):
        figures.show_pictures({5: np.zeros((2, 3, 1), int)}, name="fig-p", alt=ALT, caption="P.")  # type: ignore[dict-item]
    assert not shown


def test_a_label_is_shown_as_it_is_written(shown: Shown) -> None:
    figures.show_pictures(
        {"$\\frac": np.zeros((2, 3, 1), int)}, name="fig-p", alt=ALT, caption="P."
    )
    assert shown[0][0]["text/csv"].splitlines()[1].startswith("$\\frac,2,3,")


@pytest.mark.parametrize("alt", ["A line.", "x" * 301])
def test_an_alternative_text_says_enough_and_not_too_much(alt: str) -> None:
    with pytest.raises(ValuesError, match="30 to 300 characters"):
        call(alt=alt)


@pytest.mark.parametrize(
    ("picture", "error", "message"),
    [
        (np.zeros((2, 3, 3)), ValuesError, "integers in 0 to 255"),
        (np.full((2, 3, 3), 256), ValuesError, "integers in 0 to 255"),
        (np.full((2, 3, 3), -1), ValuesError, "integers in 0 to 255"),
        (np.zeros((2, 3, 4), dtype=int), ShapeError, "1 or 3 channels"),
        (np.zeros((2, 3), dtype=int), ShapeError, "height"),
    ],
)
def test_bad_pictures_are_refused(picture: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        figures.show_pictures({"p": picture}, name="fig-p", alt=ALT, caption="P.")


@pytest.mark.parametrize("package", ["IPython.display", "matplotlib"])
def test_a_missing_package_names_the_extra(
    package: str, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"vitbias\[figures\]"):
        call()


def test_hues_are_those_of_the_style_sheet_by_day() -> None:
    sheet = (Path(__file__).parents[1] / "book" / "_static" / "hues.css").read_text()
    by_day = sheet[: sheet.index('html[data-theme="dark"]')]
    hues = dict(re.findall(r"--vb-([a-z]+): (#[0-9a-f]{6});", by_day))
    assert len(figures.HUES) == 7
    for place, hue in figures.HUES.items():
        assert hues[place.split()[0]] == hue
