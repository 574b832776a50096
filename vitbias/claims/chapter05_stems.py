"""Claims of chapter 5: convolutional stems and patch merging as interfaces."""

from functools import partial

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.hierarchy import merging_collision, merging_nullity, stage_table
from vitbias.rank import certified_rank, exact_rank
from vitbias.readers.catalogue import published
from vitbias.stems import stem_matrix, stem_nullity, stem_rank

__all__ = ["CLAIMS"]


def _stride_boundary() -> Evidence:
    """Matrices built pixel by pixel against formula and frequencies; three released stems with zeros."""
    rng = np.random.default_rng(506)
    count = 0
    for stride in (1, 2, 3):
        for kernel in (1, 2, 3, 5):
            for embed in (1, 3, 7):
                weight = rng.integers(-9, 10, (embed, kernel, kernel, 2))
                height, width = 2 * stride, 3 * stride
                pixels = np.eye(height * width * 2, dtype=int)
                columns = [
                    _slide(weight, pixel.reshape(height, width, 2), stride) for pixel in pixels
                ]
                whole = exact_rank(np.array(columns).T).nullity
                formula = stem_nullity(height, width, stride, 2, kernel, embed)
                hold(whole == formula, f"k = {kernel}, S = {stride}, d = {embed}: {whole}")
                by_frequency = stem_rank(weight, height, width, stride)
                hold(by_frequency.proved and by_frequency.nullity == whole, f"{by_frequency}")
                count += 1
    for kernel, stride, zeros in ((7, 4, 3), (3, 2, 1), (5, 5, 0)):
        side = 2 * stride
        weight = rng.integers(-9, 10, (3, kernel, kernel, 3))
        found = certified_rank(stem_matrix(weight, side, side, stride, padding=zeros))
        formula = stem_nullity(side, side, stride, 3, kernel, 3, padding=zeros)
        hold(found.proved and found.nullity == formula, f"k = {kernel}, p = {zeros}: {found}")
        count += 1
    tiny = [stem_nullity(224, 224, stride, 3, 16, 192) for stride in (16, 8)]
    hold(tiny == [112896, 0], f"DeiT-Ti: {tiny}")
    return {"stems": fmt(count), "nullity of width 192 at stride 16 and 8": fmt(tiny)}


def _merging() -> Evidence:
    """Mirror images under LayerNorm and merging, exactly and in floats; the stages of released sizes."""
    rng = np.random.default_rng(517)
    worst = 0.0
    for channels in (1, 2, 3, 5):
        weight = rng.integers(-9, 10, (2 * channels, 4 * channels))
        gain = rng.integers(1, 9, 4 * channels)
        hold(exact_rank(weight).nullity >= merging_nullity(channels), f"C = {channels}")
        pair = merging_collision(weight, gain, rng.integers(-9, 10, 4 * channels))
        one, two = pair.first, pair.second
        hold((one != two).any(), "two inputs")
        hold(one.sum() == two.sum() and one @ one == two @ two, "mean and length")
        centred = two - two.sum() / len(two)
        hold((weight * gain @ centred == pair.token).all(), "what the map sees")
        outputs = []
        for x in (one.astype(float), two.astype(float)):
            normal = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
            outputs.append(weight @ (gain * normal + 0.5))
        worst = max(worst, float(np.abs(outputs[0] - outputs[1]).max()))
    held = [row.activations for row in stage_table(published("Swin-T"))]
    hold(held == [301056, 150528, 75264, 37632], f"Swin-T holds {held}")
    hold(held[1] == 3 * 224**2, "the second stage of Swin-T")
    base = [row.activations for row in stage_table(published("Swin-B"))]
    hold(base[1] == 4 * 224**2, f"Swin-B holds {base}")
    return {"difference of tokens": below(worst, 1e-10), "values in Swin-T's stages": fmt(held)}


def _slide(weight: np.ndarray, picture: np.ndarray, stride: int) -> np.ndarray:
    """A stem on one picture that wraps round, window by window."""
    height, width, _ = picture.shape
    steps = np.arange(weight.shape[1])
    windows = [
        picture[np.ix_((i + steps) % height, (j + steps) % width)]
        for i in range(0, height, stride)
        for j in range(0, width, stride)
    ]
    return np.concatenate([np.einsum("dabc,abc->d", weight, window) for window in windows])


_record = partial(Claim, chapter="05_patch_interface")

CLAIMS = (
    _record(
        id="T6",
        statement="The stride of a linear stem, not an overlap of its kernels, sets what is lost.",
        tier="exact",
        place="patch projection",
        assumptions=(
            "one linear layer, almost all weights",
            "a kernel at least as large as the stride",
            "a picture that wraps round, or zeros that leave each stride a block of its own",
        ),
        fails_when="a kernel smaller than the stride skips pixels, or padding leaves border pixels out",
        evidence=_stride_boundary,
    ),
    _record(
        id="T17",
        statement="Patch merging loses half of its dimensions, also behind a LayerNorm.",
        tier="exact",
        place="hierarchy",
        assumptions=("a linear map from four tokens to twice the width", "real values"),
        fails_when="the map keeps all four widths",
        evidence=_merging,
    ),
)
