"""Claims of chapter 5: the patch projection's exact boundary."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from vitbias.architecture import plain_vit
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import fmt
from vitbias.interface import collision, min_nullity, null_vectors
from vitbias.lattice import collide
from vitbias.patches import patchify, raw_dim, unpatchify
from vitbias.rank import exact_rank
from vitbias.vit import forward, initial_weights

__all__ = ["CLAIMS"]

SWIN_RAW_DIM = 48


def _raw_dimension() -> Evidence:
    """D = P²C, counted on a patch of a picture."""
    counted = {}
    for patch in (4, 14, 16, 32):
        picture = np.zeros((patch, patch, 3))
        counted[patch] = patchify(picture, patch).shape[-1]
        hold(counted[patch] == raw_dim(patch, 3), f"P = {patch}: {counted[patch]} values")
    return {f"D at P = {patch}": fmt(count) for patch, count in counted.items()}


def _null_space_exists() -> Evidence:
    """Every d < D <= 13, integer matrices of full rank and of rank one: nullity = D - rank >= D - d > 0."""
    rng = np.random.default_rng(52)
    nullities = []
    for raw in range(2, 14):
        for width in range(1, raw):
            column, row = rng.integers(1, 9, (width, 1)), rng.integers(1, 9, (1, raw))
            for weight in (rng.integers(-9, 10, (width, raw)), column * row):
                report = exact_rank(weight)
                hold(report.rank + report.nullity == raw, "rank + nullity = D")
                hold(report.nullity >= raw - width > 0, f"d = {width}, D = {raw}")
                nullities.append(report.nullity)
    return {"matrices": fmt(len(nullities)), "least nullity": fmt(min(nullities))}


def _same_token() -> Evidence:
    """E x = E x' exactly when x - x' is in the null space, over all pairs of a small alphabet."""
    weight = np.array([[1, 2, -1], [0, 1, 3]])
    basis = null_vectors(weight)
    patches = np.array(list(product(range(-7, 8), repeat=3)))
    tokens = patches @ weight.T
    same = merged = 0
    for vector, token in zip(patches, tokens, strict=True):
        in_null_space = exact_rank([*basis.tolist(), vector.tolist()]).rank == len(basis)
        hold(in_null_space == (not token.any()), f"difference {vector.tolist()}")
        same += in_null_space
        merged += bool(in_null_space and vector.any())
    return {
        "differences": fmt(len(patches)),
        "in the null space": fmt(same),
        "nonzero": fmt(merged),
    }


def _no_network_can_tell() -> Evidence:
    """Two different 8-bit pictures with equal integer tokens: every later layer agrees to the last bit."""
    rng = np.random.default_rng(54)
    model = plain_vit(image=12, patch=4, width=12, depth=2, heads=3, classes=7)
    weight = rng.integers(-127, 128, (model.width, SWIN_RAW_DIM))
    pictures = rng.integers(64, 192, (2, 12, 12, 3))
    first, target = patchify(pictures, 4)
    pairs = collide(weight, first, target)
    hold((pairs.first != pairs.second).any(axis=1).all(), "every patch changed")
    hold(((pairs.second @ weight.T) == pairs.tokens).all(), "tokens equal")
    parts = replace(initial_weights(model, rng), patch=weight.astype(float))
    both = [unpatchify(p.astype(int), 12, 12, 4) for p in (pairs.first, pairs.second)]
    hold((both[0] != both[1]).any(), "pictures differ")
    logits, traces = zip(*(forward(picture, parts, model) for picture in both), strict=True)
    later = [name for name in traces[0] if name != "patches"]
    for name in later:
        hold(np.array_equal(traces[0][name], traces[1][name]), name)
    hold(np.array_equal(logits[0], logits[1]), "logits")
    values = int((both[0] != both[1]).sum())
    return {"values that differ": fmt(values), "intermediates that agree": fmt(len(later))}


def _loss_need_not_matter() -> Evidence:
    """One projection, two labels: one is a function of the token, the other is not."""
    weight = np.array([[1, 0]])
    patches = np.array(list(product(range(4), repeat=2)))
    tokens = (patches @ weight.T)[:, 0]
    clashes = {}
    for name, read in (("first value", [1, 0]), ("second value", [0, 1])):
        labels = patches @ np.array(read)
        clashes[name] = sum(len(set(labels[tokens == token])) - 1 for token in set(tokens))
    hold(clashes == {"first value": 0, "second value": 12}, f"labels lost: {clashes}")
    hold(min_nullity(768, 768) == 0, "a patch embedding that need not compress")
    return {f"labels lost, {name}": fmt(count) for name, count in clashes.items()}


def _panel_two() -> Evidence:
    """max(0, 48 - d) for every width 0…64: formula against exact ranks of integer matrices."""
    rng = np.random.default_rng(56)
    nullity = {0: SWIN_RAW_DIM}  # a map to nothing keeps nothing
    for width in range(1, 65):
        nullity[width] = exact_rank(rng.integers(-9, 10, (width, SWIN_RAW_DIM))).nullity
    for width, found in nullity.items():
        hold(found == min_nullity(SWIN_RAW_DIM, width), f"d = {width}: {found}")
    shown = [nullity[width] for width in (0, 16, 32, 48, 64)]
    return {"widths": fmt(len(nullity)), "nullity at widths 0, 16, 32, 48, 64": fmt(shown)}


def _recorded_collision() -> Evidence:
    """The review's recorded pair, and one that the library finds."""
    weight = [[1, 0, 0, 0], [0, 1, 0, 0]]
    first, second = np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3])
    token = np.array(weight) @ first
    hold(np.array_equal(token, np.array(weight) @ second), "equal tokens")
    nullity = exact_rank(weight).nullity
    hold(nullity == 2, f"nullity {nullity}")
    found = collision(weight, first)
    hold(np.array_equal(found.token, token) and (found.second != first).any(), "found pair")
    return {"token": fmt(token), "nullity": fmt(nullity), "also": fmt(found.second)}


def _finite_alphabets() -> Evidence:
    """Digits: one number can hold four 8-bit values, although the real map has nullity 3."""
    weight = [[1, 256, 256**2, 256**3]]
    nullity = exact_rank(weight).nullity
    hold(nullity == 3, f"nullity {nullity}")
    rng = np.random.default_rng(59)
    for patch in rng.integers(0, 256, (257, 4)):
        token = int((np.array(weight) @ patch)[0])
        hold([token >> shift & 255 for shift in (0, 8, 16, 24)] == patch.tolist(), "digits")
    patches = list(product(range(5), repeat=4))
    tokens = {sum(x * 5**k for k, x in enumerate(patch)) for patch in patches}
    hold(tokens == set(range(5**4)), "all patches of a five-letter alphabet, each token once")
    return {
        "nullity over the reals": fmt(nullity),
        "patches of a five-letter alphabet": fmt(len(patches)),
        "their tokens": fmt(len(tokens)),
    }


_record = partial(Claim, place="patch projection", chapter="05_patch_interface")

CLAIMS = (
    _record(
        id="R5.1",
        statement="A square patch is a list of side times side times channels values.",
        tier="exact",
        assumptions=("square patch",),
        fails_when="the patch is not square",
        evidence=_raw_dimension,
    ),
    _record(
        id="R5.2",
        statement="A linear patch embedding narrower than the patch merges some directions.",
        tier="exact",
        assumptions=("linear map", "real values", "no bypass"),
        fails_when="the width is at least the number of values in a patch",
        evidence=_null_space_exists,
    ),
    _record(
        id="R5.3",
        statement="Two patches share a token exactly when their difference is a null vector.",
        tier="exact",
        assumptions=("linear map",),
        fails_when="the token also receives something that is not a function of the projection",
        evidence=_same_token,
    ),
    _record(
        id="R5.4",
        statement="What the patch projection merges, no later layer can separate.",
        tier="exact",
        assumptions=("token only", "any later function, trained or not"),
        fails_when="pixels reach later layers around the token",
        evidence=_no_network_can_tell,
    ),
    _record(
        id="R5.5",
        statement="A merged direction need not matter, and a patch embedding need not merge any.",
        tier="exact",
        assumptions=("linear map",),
        fails_when="the label varies along a merged direction",
        evidence=_loss_need_not_matter,
    ),
    _record(
        id="R5.6",
        statement="At maximal rank a patch of 48 values loses 48 minus the width directions, or none.",
        tier="exact",
        assumptions=("linear map", "maximal rank for equality"),
        fails_when="the projection has less than maximal rank: then it loses more",
        evidence=_panel_two,
    ),
    _record(
        id="R5.9",
        statement="A narrow projection must merge real patches, but need not merge 8-bit ones.",
        tier="exact",
        assumptions=("finite set of pixel values", "unbounded integers in the token"),
        fails_when="the tokens can take fewer values than there are patches",
        evidence=_finite_alphabets,
    ),
    _record(
        id="RE.2",
        statement="The review's recorded pair of patches shares one embedding.",
        tier="exact",
        assumptions=("the recorded two-row projection",),
        fails_when="a third row sees the difference of the last two values",
        evidence=_recorded_collision,
    ),
)
