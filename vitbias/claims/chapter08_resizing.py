"""Claims of chapter 8: the operators are those of released codes; when the way back loses nothing."""

from fractions import Fraction
from functools import partial

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.recordings import recorded
from vitbias.resizing import METHODS, RELEASES, resize_table, round_trip

__all__ = ["CLAIMS", "RECORDED_CALLS"]

# by release: recording, sizes, call. ViT's own code (scipy) is not among them
RECORDED_CALLS = {
    "timm": ("resizing rectangular", "14x14_to_10x20_p5", "timm_bicubic_aa1"),
    "transformers ViT": ("resizing rectangular", "14x14_to_10x20_p1", "hfvit"),
    "transformers DeiT": ("resizing rectangular", "14x14_to_10x20_p2", "hfdeit"),
    "transformers DINOv2": ("resizing", "14x14_to_24x24", "hfdinov2"),
    "transformers DINOv2 with registers": (
        "resizing rectangular",
        "14x14_to_10x20_p1",
        "hfdinov2reg",
    ),
}


def _as_released() -> Evidence:
    """Each recorded table against the matrices, and every other method as far away."""
    differences, others = {}, []
    for release, (name, sizes, call) in RECORDED_CALLS.items():
        arrays = recorded(name).arrays
        wanted, table = arrays[f"{sizes}__{call}"], arrays[f"{sizes}__in"].astype(float)
        grids, _, kept = sizes.partition("_p")
        old, new = ([int(side) for side in grid.split("x")] for grid in grids.split("_to_"))
        for method in METHODS:
            ours = resize_table(table, old, new, method, kept=int(kept or 1))
            share = float(np.linalg.norm(ours - wanted) / np.linalg.norm(wanted))
            if method == RELEASES[release]:
                differences[release] = share
            else:
                others.append(share)
    hold(max(differences.values()) < 1e-6, f"{differences}")
    hold(min(others) > 1e-2, f"another method comes as near as {min(others)}")
    for release in ("transformers ViT", "transformers DeiT"):
        hold(differences[release] < 1e-12, f"{release} was recorded in float64")
    return {
        "releases": fmt(len(differences)),
        "largest relative difference": below(max(differences.values()), 1e-6),
        "of any other method, at least": fmt(min(others), 2),
        "versions": ", ".join(
            f"{name} {version}"
            for name, version in recorded("resizing rectangular").versions.items()
        ),
    }


def _lossless() -> Evidence:
    """Exact round trips against sets of places, as fractions of the picture."""

    def places(slots: int, corners: bool) -> set[Fraction]:
        if corners:
            return {Fraction(j, slots - 1) for j in range(slots)}
        return {Fraction(2 * j + 1, 2 * slots) for j in range(slots)}

    counted = lossless = 0
    for method in ("align-corners linear", "half-pixel linear", "antialiased linear"):
        corners = method.startswith("align")
        for old in range(2, 6):
            for new in range(2, 16):
                unchanged = np.array_equal(round_trip(old, new, method), np.eye(old, dtype=int))
                expected = places(old, corners) <= places(new, corners)
                if method.startswith("antialiased"):
                    expected = old == new
                hold(unchanged == expected, f"{method}, {old} to {new} slots and back")
                counted, lossless = counted + 1, lossless + unchanged
    return {"pairs of sizes": fmt(counted), "without loss": fmt(lossless)}


_record = partial(Claim, place="position", chapter="08_position_signals")

CLAIMS = (
    _record(
        id="V8.9",
        statement="The matrices of this chapter return what released codes returned.",
        tier="measured",
        assumptions=("the recorded versions", "tables of random entries"),
        fails_when="a release changes its default, or an image is scaled by a factor instead",
        evidence=_as_released,
    ),
    _record(
        id="V8.10",
        statement="Resized up and down again, a table is unchanged only if old slots are new ones too.",
        tier="exact",
        assumptions=("linear kernels, no antialiasing", "two slots a side or more"),
        fails_when="the way down is antialiased linear: then no larger size returns the table unchanged",
        evidence=_lossless,
    ),
)
