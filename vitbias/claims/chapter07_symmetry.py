"""Claims of chapter 7 about whole blocks, masks, multisets, gauges and the learning rule."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb, factorial, log2, prod

import numpy as np

from vitbias.architecture import plain_vit
from vitbias.arrays import Array
from vitbias.attention import multi_head
from vitbias.automorphisms import automorphisms, interchangeable, shifted_order
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_attention
from vitbias.formatting import below, fmt
from vitbias.gauge import change_gauge, identifiable, product_jacobian, redundant_params
from vitbias.orbits import multisets
from vitbias.patches import patchify, unpatchify
from vitbias.rank import exact_rank
from vitbias.symmetry import generated, permutations, permute
from vitbias.vit import BlockWeights, forward, gelu, initial_weights, layer_norm
from vitbias.windows import attention_mask

__all__ = ["CLAIMS"]


def _block(tokens: Array, weights: BlockWeights, mask: Array | None = None) -> Array:
    normed = layer_norm(tokens, *weights.norm1)
    tokens = tokens + multi_head(normed, weights.attention, 2, mask=mask)[0]
    hidden = gelu(layer_norm(tokens, *weights.norm2) @ weights.up.T + weights.up_bias)
    return np.asarray(tokens + hidden @ weights.down.T + weights.down_bias)


def _whole_block() -> Evidence:
    """Rows chosen with repeats and keys moved, in fractions; a block in floats; equal tokens."""
    rng = np.random.default_rng(708)
    query, key, value = rng.integers(-3, 4, (3, 3, 2))
    plain = exact_attention(query, key, value)
    chosen = [list(rows) for rows in product(range(3), repeat=4)]
    hold(
        all((exact_attention(query[r], key, value) == plain[r]).all() for r in chosen),
        "queries chosen with repeats",
    )
    for perm in permutations(3):
        moved = exact_attention(query, permute(key, perm), permute(value, perm))
        hold((moved == plain).all(), f"keys and values moved by {perm}")
    twice = [0, 0, 1, 2]
    repeated = exact_attention(query, key[twice], value[twice])
    hold((repeated != plain).any(), "one repeated key changes the output")
    model = plain_vit(15, 5, 14, 1, 2, 3, position="none")
    block = initial_weights(model, rng).blocks[0]
    tokens = rng.normal(size=(6, 14))
    tokens[4] = tokens[2]  # two equal patches behind a class token
    out = _block(tokens, block)
    defects = []
    for order in (rng.permutation(6) for _ in range(11)):
        defects.append(
            float(abs(_block(permute(tokens, order), block) - permute(out, order)).max())
        )
    equal = float(abs(out[4] - out[2]).max())
    hold(max(defects) < 1e-12 and equal < 1e-12, f"{max(defects)} and {equal}")
    return {
        "choices of queries, in fractions": fmt(len(chosen)),
        "defect of a block": below(max(defects), 1e-12),
        "difference of equal tokens": below(equal, 1e-12),
    }


def _masks() -> Evidence:
    """All 343 masks of three tokens: the layer with Q = K = 0, V = 1 keeps exactly Aut(M)."""
    rows = [row for row in product((False, True), repeat=3) if any(row)]
    orders = []
    for chosen in product(rows, repeat=3):
        mask = np.array(chosen)
        weights = [[Fraction(int(m), int(row.sum())) for m in row] for row in mask]
        kept = {
            perm
            for perm in permutations(3)
            if all(
                weights[perm[i]][perm[j]] == weights[i][j] for i, j in product(range(3), repeat=2)
            )
        }
        group = automorphisms(mask)
        hold(generated(group.generators, 3) == kept, f"mask {chosen}")
        orders.append(group.order)
    # contents of any kind, for one mask: 4 of 24 permutations
    tokens = np.random.default_rng(701).integers(-2, 3, (4, 2))
    windows = np.kron(np.eye(2), [[1, 1], [0, 1]]).astype(bool)
    plain = exact_attention(tokens, tokens, tokens, mask=windows)
    kept4 = [
        perm
        for perm in permutations(4)
        if (
            exact_attention(*(3 * [permute(tokens, perm)]), mask=windows) == permute(plain, perm)
        ).all()
    ]
    hold(len(kept4) == automorphisms(windows).order, f"{len(kept4)} of 24")
    return {
        "masks": fmt(len(orders)),
        "of them keep nothing but the identity": fmt(orders.count(1)),
        "two ordered pairs keep": f"{fmt(len(kept4))} of 24",
    }


def _shifted_pair() -> Evidence:
    """14 x 14 tokens, w = 7, s = 3: the group by search on the cells, and by formula."""
    masks = [attention_mask(14, 14, 7, shift) for shift in (0, 3)]
    sizes = np.bincount(interchangeable(*masks)).tolist()
    order, cells = automorphisms(*masks).order, prod(factorial(size) for size in sizes)
    hold(sorted(sizes) == [9] * 4 + [12] * 8 + [16] * 4, f"cells {sizes}")
    hold(order == 2 * cells == shifted_order(14, 14, 7, 3), "order")
    half = [attention_mask(8, 8, 4, shift) for shift in (0, 2)]
    hold(automorphisms(*half).order == 8 * factorial(4) ** 16, "half a window")
    return {
        "cells": fmt(len(sizes)),
        "bits of the group": fmt(log2(order), 5),
        "bits of its cells": fmt(log2(cells), 5),
        "bits of all permutations": fmt(log2(factorial(196)), 6),
    }


def _multisets() -> Evidence:
    """Listing against stars and bars; a multiset and its double, in fractions; 256 kinds of 196."""
    for tokens, kinds in ((3, 2), (4, 3), (5, 3)):
        words = list(product(range(kinds), repeat=tokens))
        hold(
            len({tuple(sorted(w)) for w in words}) == multisets(tokens, kinds), f"{tokens}, {kinds}"
        )
    x = np.random.default_rng(729).integers(-2, 3, (3, 2))
    double = np.repeat(x, 2, axis=0)
    means = [exact_attention(t, t, t).sum(axis=0) / len(t) for t in (x, double)]
    hold((means[0] == means[1]).all(), "a multiset and its double")
    bits = log2(multisets(196, 256))
    hold(comb(451, 255) == multisets(196, 256) and abs(bits - 440.69) < 0.005, f"{bits} bits")
    return {
        "of two kinds": fmt(multisets(196, 2)),
        "bits for 256 kinds": f"{fmt(bits, 5)} of {fmt(8 * 196)}",
        "a multiset and its double": "one read-out",
    }


def _gauge() -> Evidence:
    """Dimensions by formula and as ranks; a transformer with other weights and the same logits."""
    rng = np.random.default_rng(733)
    for rank, rows, columns in ((1, 3, 2), (2, 5, 3), (3, 5, 5), (2, 6, 5)):
        pair = (rng.integers(-9, 10, (rank, side)) for side in (rows, columns))
        found = exact_rank(product_jacobian(*pair)).rank
        hold(found == identifiable(rows, columns, rank), f"rank {found}")
    model = plain_vit(8, 4, 6, 2, 3, 5)
    weights = initial_weights(model, rng)
    maps = rng.normal(size=(2, 3, 2, 2)) + 2 * np.eye(2)
    blocks = []
    for block in weights.blocks:
        other = change_gauge(
            block.attention,
            3,
            scores=maps[0],
            values=maps[1],
            key_bias=rng.normal(size=6),
            value_bias=rng.normal(size=6),
        )
        blocks.append(replace(block, attention=other))
    pictures = rng.normal(size=(3, 8, 8, 3))
    logits = [
        forward(pictures, w, model)[0] for w in (weights, replace(weights, blocks=tuple(blocks)))
    ]
    change = float(abs(logits[0] - logits[1]).max())
    redundant = redundant_params(768, 12, 12)
    hold(change < 1e-10 and redundant == 1_198_080, f"{change}, {redundant}")
    return {"logits change": below(change, 1e-10), "redundant in ViT-B/16": fmt(redundant)}


def _learning_rule() -> Evidence:
    """A transformer on scrambled pictures with co-permuted weights; then gradient descent on both."""
    rng = np.random.default_rng(709)
    model = plain_vit(6, 2, 10, 2, 5, 3)
    weights, pictures = initial_weights(model, rng), rng.normal(size=(4, 6, 6, 3))
    pixels, places = rng.permutation(12), rng.permutation(9)
    table = weights.position
    hold(table is not None, "a table of positions")
    moved = replace(
        weights,
        patch=weights.patch[:, pixels],
        position=np.concatenate([table[:1], table[1:][places]]) if table is not None else None,
    )
    scrambled = unpatchify(patchify(pictures, 2)[:, places][..., pixels], 6, 6, 2)
    before = forward(pictures, weights, model)[0]
    same = float(abs(forward(scrambled, moved, model)[0] - before).max())
    stay = float(abs(forward(scrambled, weights, model)[0] - before).max())
    hold(same < 1e-12 and stay > 0.01, f"{same}, {stay}")
    trained = _trained(rng)
    hold(trained[0] < 1e-12 and trained[1] > 0.001, f"{trained}")
    return {
        "logits, weights moved along": below(same, 1e-12),
        "weights stay": fmt(stay, 2),
        "after ten steps, moved along": below(trained[0], 1e-12),
        "after ten steps, not moved": fmt(trained[1], 2),
    }


def _trained(rng: np.random.Generator) -> tuple[float, float]:
    """One content-only head with a position table, ten steps with momentum, complex-step gradients."""
    x, target = rng.normal(size=(5, 3, 4)), rng.normal(size=5)
    pixels, places = rng.permutation(4), rng.permutation(3)

    def answer(theta: Array, inputs: Array) -> Array:
        table, slots = theta[..., :8], theta[..., 8:14]
        z = inputs @ table.reshape(-1, 1, 4, 2) + slots.reshape(-1, 1, 3, 2)
        shares = np.exp(z @ z.swapaxes(-1, -2) / 2)
        mixed = np.tanh(shares / shares.sum(axis=-1, keepdims=True) @ z)
        return np.asarray((mixed.mean(axis=-2) * theta[..., None, 14:]).sum(axis=-1))

    def fit(theta: Array, inputs: Array) -> Array:
        speed, step = np.zeros(16), 1e-30
        for _ in range(10):
            loss = ((answer(theta + 1j * step * np.eye(16), inputs) - target) ** 2).mean(axis=-1)
            speed = 0.9 * speed - 0.05 * loss.imag / step
            theta = theta + speed
        return np.asarray(answer(theta, inputs))

    theta = rng.normal(size=16)
    rows, slots = theta[:8].reshape(4, 2), theta[8:14].reshape(3, 2)
    moved = np.concatenate([rows[pixels].ravel(), slots[places].ravel(), theta[14:]])
    scrambled = x[:, places][..., pixels]
    plain = fit(theta, x)
    along, stay = (float(abs(fit(t, scrambled) - plain).max()) for t in (moved, theta))
    return along, stay


_record = partial(Claim, place="connectivity", chapter="07_token_permutations")

CLAIMS = (
    _record(
        id="T8",
        statement="A block without positions moves outputs with tokens and keeps equal tokens equal.",
        tier="exact",
        assumptions=("no position term", "row-wise maps, norms and MLP", "extra tokens stay"),
        fails_when="one key is repeated, or a part of the block looks at neighbours or places",
        evidence=_whole_block,
    ),
    _record(
        id="V7.1",
        statement="With a mask, exactly the permutations that leave the mask unchanged survive.",
        tier="exact",
        assumptions=("every query may use a key", "forbidden weights are exactly zero"),
        fails_when="the maps are special: single weights can have more symmetries than the family",
        evidence=_masks,
    ),
    _record(
        id="V7.2",
        statement="Regular and shifted windows on 14 by 14 tokens leave a group of 482.56 bits.",
        tier="counted",
        assumptions=("windows of 7, shift of 3", "masked shift", "no position term"),
        fails_when="the shift is half a window: then the square's eight turns and flips survive",
        evidence=_shifted_pair,
    ),
    _record(
        id="T29",
        statement="A read-out blind to order separates at most the multisets of its tokens.",
        tier="exact",
        assumptions=("finitely many kinds of tokens", "invariant read-out"),
        fails_when="it is read as what is reached: a mean of attention sees only frequencies",
        evidence=_multisets,
    ),
    _record(
        id="T33",
        statement="Each head may change its inner basis, and two of its biases, and no output moves.",
        tier="exact",
        assumptions=("invertible change of basis", "scores are plain inner products"),
        fails_when="rotary positions or norms of queries and keys act between the two maps",
        evidence=_gauge,
    ),
    _record(
        id="T9",
        statement="Training a plain ViT treats scrambled pictures as it treats the originals.",
        tier="exact",
        place="optimiser",
        assumptions=(
            "one permutation of pixels for all patches, one of patches",
            "optimiser without favourite coordinates",
            "initial weights permuted along, or exchangeable in law",
            "augmentation before the scramble",
        ),
        fails_when="patches get different permutations, or the model joins pixels of two patches",
        evidence=_learning_rule,
    ),
)
