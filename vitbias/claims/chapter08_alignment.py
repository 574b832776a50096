"""Claims of chapter 8 about objects and patches: alignment laws, and pixel moves through a model."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from vitbias.alignment import box_law, contained_share, expected_patches, patches_met_law
from vitbias.architecture import plain_vit
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.photographs import photograph
from vitbias.vit import forward, initial_weights

__all__ = ["CLAIMS"]

PATCH = 16


def _touched(first: int, length: int, patch: int) -> int:
    return len({pixel // patch for pixel in range(first, first + length)})


def _segments() -> Evidence:
    """Every phase and every placement, pixel by pixel; boxes over every pair of phases."""
    for patch, length in product((1, 2, 5, 7), range(1, 18)):
        counts = Counter(_touched(phase, length, patch) for phase in range(patch))
        law = {n: Fraction(times, patch) for n, times in counts.items()}
        hold(patches_met_law(length, patch) == law, f"P {patch}, a {length}")
        mean = sum(n * share for n, share in law.items())
        hold(mean == expected_patches(length, patch) == 1 + Fraction(length - 1, patch), "mean")
        hold(contained_share(length, patch) == law.get(1, 0), "contained")
    for grid, patch in ((1, 5), (3, 4), (4, 5)):
        for length in range(1, patch + 1):
            places = [_touched(x, length, patch) for x in range(grid * patch - length + 1)]
            share = Fraction(places.count(1), len(places))
            hold(contained_share(length, patch, grid * patch) == share, f"a {length}")
    pairs = Counter(
        _touched(i, 8, PATCH) * _touched(j, 8, PATCH) for i, j in product(range(PATCH), repeat=2)
    )
    box = box_law(8, 8, PATCH)
    hold(box == {n: Fraction(times, PATCH**2) for n, times in pairs.items()}, "box")
    finite = Counter(_touched(x, 8, PATCH) for x in range(224 - 7))
    hold(Fraction(finite[1], 217) == Fraction(18, 31), f"{finite}")
    return {
        "contained, 8 of 16 px": fmt(Fraction(9, 16)),
        "the same in 224 px": fmt(18 / 31, 4),
        "patches, 8 x 8 px": fmt(float(expected_patches(8, PATCH) ** 2), 3),
        "contained, 8 x 8 px": fmt(float(box[1]), 3),
    }


def _moves() -> Evidence:
    """One random model with and without a table: shifts that wrap round, and a crop that does not."""
    model = plain_vit(224, PATCH, 16, 1, 2, 2, read_out="mean", position="learned", mlp_ratio=1)
    weights = initial_weights(model, np.random.default_rng(96))
    bare = (replace(weights, position=None), replace(model, position="none"))
    whole = photograph("flower", 448).pixels / 127.5 - 1
    start = whole[100:324, 100:324]

    def change(picture: np.ndarray, parts: tuple[object, object]) -> float:
        first, second = (forward(p, *parts)[1]["read_out"] for p in (start, picture))  # type: ignore[arg-type]
        return float(abs(second - first).max())

    half, step = (np.roll(start, shift, axis=1) for shift in (PATCH // 2, PATCH))
    crop = whole[100:324, 100 - PATCH : 324 - PATCH]
    silent = change(step, bare)
    loud = {
        "half a patch, no positions": change(half, bare),
        "a whole patch, table": change(step, (weights, model)),
        "a crop a patch away, no positions": change(crop, bare),
    }
    hold(min(loud.values()) > 1e-4, f"{loud}")
    return {
        "a whole patch, no positions": below(silent, 1e-12),
        **{name: fmt(value, 2) for name, value in loud.items()},
    }


_record = partial(Claim, place="patch projection", chapter="08_position_signals")

CLAIMS = (
    _record(
        id="T24",
        statement="How many patches an object touches depends on where the patch borders happen to fall.",
        tier="exact",
        assumptions=("whole pixels", "uniform alignment", "axis-parallel box"),
        fails_when="the picture is finite: then alignments are not equally likely",
        evidence=_segments,
    ),
    _record(
        id="V8.6",
        statement="Only whole-patch shifts that wrap round leave the read-out of a model without places.",
        tier="measured",
        assumptions=("random weights", "mean read-out", "two photographs"),
        fails_when="new content enters, as in a crop: then nothing returns",
        evidence=_moves,
    ),
)
