"""Claims of chapter 5: continuous maps, pictures in eight bits, twins in rationals."""

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from vitbias.alphabets import FORMATS, entropy_bound, float_values, pigeonhole, siegel_bound
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.interface import fold_normalisation
from vitbias.lattice import kernel_lattice
from vitbias.rank import exact_rank
from vitbias.twins import rational_twins, rounding_drift

__all__ = ["CLAIMS"]


def _continuous_maps() -> Evidence:
    """A sign change on the circle, certified in balls; antipodes of tanh networks on the sphere."""
    from flint import arb

    def gap(turn: Fraction) -> arb:
        angle = arb(turn.numerator) / turn.denominator
        x, y = angle.cos_pi(), angle.sin_pi()

        def image(x: arb, y: arb) -> arb:
            return (x + x * y).exp() + (3 * y - x).sin() + y**3

        return image(x, y) - image(-x, -y)

    low, high = Fraction(0), Fraction(1)
    hold(gap(low) > 0 and gap(high) < 0, "opposite signs half a turn apart")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if gap(middle) > 0 else (low, middle)
    hold(gap(low) > 0 and gap(high) < 0, "a certified sign change")
    rng = np.random.default_rng(502)
    worst = 0.0
    for _ in range(11):
        inner, outer = rng.normal(size=(5, 3)), rng.normal(size=(2, 5))
        shift = rng.normal(size=5)
        worst = max(worst, _smallest_gap(inner, shift, outer))
    hold(worst < 1e-12, f"antipodes, gap {worst}")
    # not continuous: two digits in one number; not all reals: two bytes in one number
    grid = np.array(list(product(range(100), repeat=2)))
    tens, ones = np.divmod(grid, 10)
    interleaved = tens @ [1000, 100] + ones @ [10, 1]
    hold(len(set(interleaved.tolist())) == len(grid), "interleaved digits are injective")
    bytes_ = np.array(list(product(range(256), repeat=2)))
    hold(len(set((bytes_ @ [1, 256]).tolist())) == len(bytes_), "bytes are digits")
    return {
        "networks on the sphere": f"11, gap {below(worst, 1e-12)}",
        "half turns between the signs": f"2^-{(high - low).denominator.bit_length() - 1}",
        "interleaved pairs, all apart": fmt(len(grid)),
    }


def _smallest_gap(inner: np.ndarray, shift: np.ndarray, outer: np.ndarray) -> float:
    """Newton steps on the sphere for f(u) = f(-u), f(u) = outer tanh(inner u + shift)."""

    def odd(u: np.ndarray) -> np.ndarray:
        return np.asarray(outer @ (np.tanh(inner @ u + shift) - np.tanh(shift - inner @ u)))

    best = np.inf
    for start in np.random.default_rng(0).normal(size=(40, 3)):
        u = start / np.linalg.norm(start)
        for _ in range(30):
            slope = (1 - np.tanh(inner @ u + shift) ** 2) + (1 - np.tanh(shift - inner @ u) ** 2)
            step = np.linalg.lstsq(outer @ (slope[:, None] * inner), odd(u), rcond=None)[0]
            u = u - step
            if np.linalg.norm(u) < 1e-3:
                break
            u = u / np.linalg.norm(u)
        else:
            best = min(best, float(np.abs(odd(u)).max()))
        if best < 1e-13:
            break
    return best


def _counting() -> Evidence:
    """Formats by all their patterns, bounds by all patches of small alphabets, then published sizes."""
    patterns = np.arange(2**16, dtype=np.uint32)
    half = patterns.astype(np.uint16).view(np.float16)
    brain = (patterns << 16).astype(np.uint32).view(np.float32)
    counts = {}
    for name, values in (("fp16", half), ("bf16", brain)):
        counts[name] = len(set(values[~np.isnan(values)].tolist())) + 1
        hold(counts[name] == float_values(*FORMATS[name]), f"{name}: {counts[name]} values")
    rng = np.random.default_rng(503)
    triggered = 0
    for _ in range(60):
        raw, pixels = int(rng.integers(2, 7)), int(rng.integers(2, 4))
        weight = rng.integers(-3, 4, raw)
        patches = np.array(list(product(range(pixels), repeat=raw)))
        merged = len(set((patches @ weight).tolist())) < len(patches)
        claimed = (
            entropy_bound([int(weight @ weight)], raw, pixel_values=pixels).guaranteed
            or siegel_bound(raw, 1, max(1, int(abs(weight).max()))) < pixels
        )
        hold(merged or not claimed, f"{weight.tolist()} on {pixels} letters")
        triggered += claimed
    hold(triggered > 20, f"{triggered} guarantees")
    sizes = {"DeiT-Ti": (768, 192), "DeiT-S": (768, 384), "B/32": (3072, 768), "L/32": (3072, 1024)}
    sure = {n: entropy_bound([D * 127**2] * d, D).guaranteed for n, (D, d) in sizes.items()}
    hold([n for n, found in sure.items() if not found] == ["DeiT-S"], f"int8: {sure}")
    roots = [siegel_bound(D, d, 127) for D, d in sizes.values()]
    hold(roots == [46, 97536, 73, 624], f"Siegel {roots}")
    for name, (D, d) in sizes.items():
        count = pigeonhole(D, d, counts["bf16"])
        hold(count.guaranteed and counts["bf16"] ** d < 256**D, f"bf16 {name}")
    hold(not pigeonhole(768, 768, counts["bf16"]).guaranteed, "bf16 B/16")
    digits = [[1, 256, 256**2, 256**3]]
    hold(exact_rank(digits).nullity == 3, "a null space")
    hold(not entropy_bound([sum(x * x for x in digits[0])], 4).guaranteed, "and no guarantee")
    return {
        "guarantees checked by enumeration": fmt(triggered),
        "values of fp16 and bf16": fmt([counts["fp16"], counts["bf16"]]),
        "int8, guaranteed": ", ".join(n for n, found in sure.items() if found),
    }


def _lattice_of_twins() -> Evidence:
    """All pairs of a small alphabet: one token exactly when the difference is in the reduced lattice."""
    weight = np.array([[1, -1, 2, 1], [1, 1, -1, 2]])
    basis = kernel_lattice(weight)
    patches = np.array(list(product(range(5), repeat=4)))
    tokens: dict[tuple[int, ...], list[np.ndarray]] = {}
    for patch, token in zip(patches, (patches @ weight.T).tolist(), strict=True):
        tokens.setdefault(tuple(token), []).append(patch)
    pairs = {
        tuple((second - first).tolist())
        for same in tokens.values()
        for first in same
        for second in same
        if (first != second).any()
    }
    reach = range(-6, 7)
    lattice = {tuple((np.array(c) @ basis).tolist()) for c in product(reach, repeat=len(basis))}
    fits = {v for v in lattice if any(v) and max(map(abs, v)) <= 4}
    hold(pairs == fits and pairs, f"{len(pairs)} differences, {len(fits)} lattice vectors")
    return {"patches": fmt(len(patches)), "differences of pairs": fmt(len(pairs))}


def _folding() -> Evidence:
    """Every place of a patch, in fractions, with the decimals that released models use."""
    rng = np.random.default_rng(505)
    mean = [Fraction(text) for text in ("0.485", "0.456", "0.406")]
    std = [Fraction(text) for text in ("0.229", "0.224", "0.225")]
    weight, bias = rng.integers(-127, 128, (3, 12)), rng.integers(-9, 10, 3)
    folded, shifted = fold_normalisation(weight, bias, mean, std)
    for patch in rng.integers(0, 256, (5, 12)).tolist():
        normal = np.array(
            [(Fraction(x, 255) - mean[k % 3]) / std[k % 3] for k, x in enumerate(patch)]
        )
        hold((weight @ normal + bias == folded @ np.array(patch) + shifted).all(), "folded")
    hold(exact_rank(folded).rank == exact_rank(weight).rank, "the rank stays")
    return {"patches": fmt(5), "rank of both": fmt(exact_rank(folded).rank)}


def _rational_twins() -> Evidence:
    """Integer and float32 weights; tokens again in fractions, entry by entry."""
    rng = np.random.default_rng(506)
    patches, targets = rng.integers(64, 192, (2, 3, 48))
    drifts = []
    for weight in (rng.integers(-127, 128, (12, 48)), rng.normal(size=(12, 48)).astype(np.float32)):
        found = rational_twins(weight, patches, targets)
        rows = [[Fraction(w) for w in row] for row in weight.tolist()]
        for first, second in zip(patches.tolist(), found.second.tolist(), strict=True):
            twin = [Fraction(x, found.denominator) for x in second]
            hold(twin != first and all(0 <= x <= 255 for x in twin), "another patch in the box")
            for row in rows:
                change = sum(w * (y - x) for w, x, y in zip(row, first, twin, strict=True))
                hold(change == 0, "equal tokens")
        drifts.append(rounding_drift(weight, found))
        hold(drifts[-1].changed > 0, "rounding moves tokens")
    return {
        "patches": fmt(len(patches)),
        "tokens moved by rounding": fmt([drift.changed for drift in drifts]),
    }


_record = partial(Claim, place="patch projection", chapter="05_patch_interface")

CLAIMS = (
    _record(
        id="T2",
        statement="No continuous map to fewer numbers keeps all patches apart.",
        tier="exact",
        assumptions=("continuous map", "real values", "a sphere inside the domain"),
        fails_when="the map jumps, or the patches are finitely many",
        evidence=_continuous_maps,
    ),
    _record(
        id="T3",
        statement="Counting guarantees 8-bit collisions for some published sizes and not for others.",
        tier="exact",
        assumptions=("tokens of a known format, or integer weights of a known size",),
        fails_when="tokens can take as many values as there are patches",
        evidence=_counting,
    ),
    _record(
        id="V5.3",
        statement="Whole-number patches share an integer token exactly along a lattice.",
        tier="exact",
        assumptions=("integer weights", "integer pixel values"),
        fails_when="the shortest lattice vectors are longer than the range of pixel values",
        evidence=_lattice_of_twins,
    ),
    _record(
        id="V5.4",
        statement="The usual normalisation of pixels folds into the projection exactly.",
        tier="exact",
        assumptions=("one mean and one positive spread for each channel",),
        fails_when="the mean or the spread is computed from the picture itself",
        evidence=_folding,
    ),
    _record(
        id="V5.5",
        statement="A narrow rational projection gives every inner patch twins in rational numbers.",
        tier="exact",
        assumptions=("rational weights, floats included", "a patch off the edges of the range"),
        fails_when="pixels are rounded to eight bits",
        evidence=_rational_twins,
    ),
)
