"""Claims of chapter 8 about objects and patches: alignment laws, and pixel moves through a model."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from vitbias.alignment import box_law, contained_share, expected_patches, patches_met_law
from vitbias.architecture import plain_vit
from vitbias.arrays import Array
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
    """One random model with and without a table, two photographs: shifts that wrap round, and crops."""
    model = plain_vit(224, PATCH, 16, 1, 2, 2, read_out="mean", position="learned", mlp_ratio=1)
    weights = initial_weights(model, np.random.default_rng(96))
    variants = {
        "no positions": (replace(weights, position=None), replace(model, position="none")),
        "table": (weights, model),
    }
    whole_patches: list[float] = []
    others: dict[str, list[float]] = {
        f"{kind}, {variant}": [] for kind in ("shifts", "crops") for variant in variants
    }
    for photo, (variant, parts) in product(("china", "flower"), variants.items()):
        pixels = photograph(photo, 448).pixels / 127.5 - 1

        def read(picture: Array, parts: Any = parts) -> Array:
            return np.asarray(forward(picture, *parts)[1]["read_out"])

        start = pixels[100:324, 100:324]
        for shift in range(1, 2 * PATCH + 1):
            moved = float(abs(read(np.roll(start, shift, axis=1)) - read(start)).max())
            free = variant == "no positions" and shift % PATCH == 0
            (whole_patches if free else others[f"shifts, {variant}"]).append(moved)
            if shift % 4 == 0:
                crop = pixels[100:324, 100 - shift : 324 - shift]
                others[f"crops, {variant}"].append(float(abs(read(crop) - read(start)).max()))
    hold(max(whole_patches) < 1e-12, f"{whole_patches}")
    hold(min(map(min, others.values())) > 1e-6, f"{others}")
    return {
        "whole patches, no positions": below(max(whole_patches), 1e-12),
        **{f"other {name}, at least": fmt(min(found), 1) for name, found in others.items()},
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
        statement="Whole-patch shifts that wrap round leave a read-out without places; no other move does.",
        tier="measured",
        assumptions=(
            "random weights",
            "mean read-out",
            "two photographs",
            "1 to 2P pixels",
            "table or none",
        ),
        fails_when="offsets or turns wrap round too: then the read-out keeps whole patches, by R8.3",
        evidence=_moves,
    ),
)
