"""The seven hues: visible on the page in both modes, apart under every kind of colour blindness."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

STYLE = (Path(__file__).parents[1] / "book/_static/hues.css").read_text(encoding="utf-8")
PLACES = ["patch", "position", "connectivity", "hierarchy", "teacher", "data", "optimiser"]
# the theme's own grounds
PAGE = {"light": "#ffffff", "dark": "#121212"}
RGB_TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)
WHITE = RGB_TO_XYZ.sum(1)
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
SIGHTS = {
    "ordinary": np.eye(3),
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8607, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "tritan": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def properties(mode):
    light, _, dark = STYLE.partition('[data-theme="dark"]')
    return dict(re.findall(r"--vb-(\w+): (#[0-9a-f]{6})", light if mode == "light" else dark))


def linear(colour):
    value = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    """As WCAG 2 defines it."""
    dark, light = sorted(RGB_TO_XYZ[1] @ linear(colour) for colour in (first, second))
    return (light + 0.05) / (dark + 0.05)


def lab(rgb):
    value = RGB_TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    x, y, z = np.where(value > 0.008856, np.cbrt(value), 7.787 * value + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("mode", PAGE)
def test_each_place_has_a_hue_that_is_seen_on_page_and_card(mode):
    found = properties(mode)
    assert set(PLACES) <= found.keys()
    for place in PLACES:
        assert contrast(found[place], PAGE[mode]) >= 3
        assert contrast(found[place], found["ground"]) >= 3


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("mode", PAGE)
def test_no_two_hues_look_alike(mode, sight):
    found = properties(mode)
    seen = {place: lab(SIGHTS[sight] @ linear(found[place])) for place in PLACES}
    for first, second in combinations(PLACES, 2):
        assert np.linalg.norm(seen[first] - seen[second]) >= 10, (first, second)


def test_contrast_of_black_and_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
