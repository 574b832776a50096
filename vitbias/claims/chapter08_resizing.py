"""A claim of chapter 8: the operators are those of released codes."""

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.recordings import recorded
from vitbias.resizing import METHODS, RELEASES, resize_table

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


CLAIMS = (
    Claim(
        id="V8.9",
        statement="The matrices of this chapter return what released codes returned.",
        tier="measured",
        place="position",
        assumptions=("the recorded versions", "tables of random entries"),
        fails_when="a release changes its default, or an image is scaled by a factor instead",
        chapter="08_position_signals",
        evidence=_as_released,
    ),
)
