"""Claims of chapter 2: what flattening a patch does, and what it does not."""

from functools import partial
from itertools import permutations

import numpy as np
import sympy

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.interface import null_vectors
from vitbias.patches import patchify
from vitbias.rank import exact_rank

__all__ = ["CLAIMS"]


def _flattening() -> Evidence:
    """Every order of a patch's values reaches every map; the rank alone decides what is injective."""
    rng = np.random.default_rng(41)
    values, patches = 4, rng.integers(0, 256, (7, 4))
    weight = rng.integers(-9, 10, (3, values))
    for order in permutations(range(values)):
        moved = weight[:, order]
        hold(np.array_equal(patches[:, order] @ moved.T, patches @ weight.T), f"order {order}")
        hold((moved**2).sum() == (weight**2).sum(), "the norm does not distinguish orders")
    mixing = sympy.Matrix(rng.integers(-9, 10, (values, values)).tolist())
    hold(mixing.det() != 0, "an invertible map of the patch")
    undone = sympy.Matrix(weight.tolist()) * mixing.inv()
    hold(
        undone * (mixing * sympy.Matrix(patches.T.tolist()))
        == sympy.Matrix((weight @ patches.T).tolist()),
        "the same map after an invertible one",
    )
    for rows, columns in ((5, 4), (4, 4), (3, 4), (1, 4)):
        tall = rng.integers(-9, 10, (rows, columns))
        tokens = patches @ tall.T
        if exact_rank(tall).rank == columns:
            exact = sympy.Matrix(tall.tolist())
            left = (exact.T * exact).inv() * exact.T
            back = np.array((left * sympy.Matrix(tokens.T.tolist())).tolist(), dtype=object).T
            hold((back == patches).all(), f"{rows} rows give the patches back")
        else:
            other = patches + null_vectors(tall)[0].astype(int)
            hold(
                (other != patches).any() and np.array_equal(other @ tall.T, tokens), f"{rows} rows"
            )
    square = rng.normal(size=(48, 48))
    pixels = rng.uniform(0, 1, (48, 9))
    bound = 48 * float(np.linalg.cond(square)) * np.finfo(float).eps / 2
    error = abs(np.linalg.solve(square, square @ pixels) - pixels).max()
    hold(error < bound, f"reconstruction differs by {error}")
    return {
        "orders of four values": "24, each with the same maps",
        "rows that suffice": "4 of 4",
        "error over D times condition times unit roundoff": below(error / bound, 1),
    }


def _plain_reshape() -> Evidence:
    """The reshape without a transposition, against the definition of a patch."""
    picture = np.arange(224 * 224 * 3).reshape(224, 224, 3)
    rows = [
        picture[top : top + 16, left : left + 16].ravel()
        for top in range(0, 224, 16)
        for left in range(0, 224, 16)
    ]
    wrong = picture.reshape(14, 14, 16, 16, 3).reshape(196, 768)
    right = picture.reshape(14, 16, 14, 16, 3).transpose(0, 2, 1, 3, 4).reshape(196, 768)
    hold(np.array_equal(right, rows) and np.array_equal(right, patchify(picture, 16)), "the cut")
    hold(sorted(wrong.ravel()) == sorted(right.ravel()), "the same values")
    equal = int((wrong == right).all(axis=1).sum())
    hold(equal == 0, f"{equal} patches are right")
    heights = {int(np.ptp(row // (224 * 3))) + 1 for row in wrong}
    hold(max(heights) <= 5, f"rows of pixels in one cell: {heights}")
    return {
        "patches that a plain reshape gets right": fmt(equal),
        "rows of pixels that one of its cells touches": fmt(sorted(heights)),
    }


_record = partial(Claim, tier="exact", place="patch projection", chapter="02_vit_reference")

CLAIMS = (
    _record(
        id="T4",
        statement="Flattening a patch loses nothing; the rank of the projection decides what is kept.",
        assumptions=("every matrix can be learned", "exact arithmetic"),
        fails_when="the projection has fewer rows than a patch has values",
        evidence=_flattening,
    ),
    _record(
        id="V2.2",
        statement="A reshape without a transposition gives strips of the picture, not patches.",
        assumptions=("values in row order, channels fastest",),
        fails_when="the picture is one patch wide",
        evidence=_plain_reshape,
    ),
)
