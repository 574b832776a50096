"""A claim of chapter 8: the operators are those of released codes."""

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.recordings import recorded
from vitbias.resizing import METHODS, RELEASES, resize_table

__all__ = ["CLAIMS", "RECORDED_CALLS"]

# calls of the recordings, by release: a table of 14 x 14 and one row in front, for 10 x 20
RECORDED_CALLS = {
    "transformers ViT": "hfvit",
    "transformers DINOv2": "hfdinov2reg",
    "timm": "timm_bicubic_aa1",
}


def _as_released() -> Evidence:
    """Recorded tables for 10 x 20 against the matrices, and every other method as far away."""
    arrays = recorded("resizing rectangular").arrays
    sizes = "14x14_to_10x20_p1"
    table = arrays[f"{sizes}__in"].astype(float)
    differences, others = {}, []
    for release, call in RECORDED_CALLS.items():
        wanted = arrays[f"{sizes}__{call}"]
        for method in METHODS:
            error = np.linalg.norm(resize_table(table, 14, (10, 20), method, kept=1) - wanted)
            share = float(error / np.linalg.norm(wanted))
            if method == RELEASES[release]:
                differences[release] = share
            elif not method.startswith("align"):
                others.append(share)
    hold(max(differences.values()) < 1e-6, f"{differences}")
    hold(min(others) > 1e-2, f"another method comes as near as {min(others)}")
    hold(differences["transformers ViT"] < 1e-12, "recorded in float64")
    return {
        "releases": fmt(len(differences)),
        "largest relative difference": below(max(differences.values()), 1e-6),
        "of any other half-pixel method, at least": fmt(min(others), 2),
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
