"""Claims of chapter 8: position signals carry coordinates."""

from fractions import Fraction
from functools import partial
from itertools import product
from math import exp, fsum, sqrt

import numpy as np

from vitbias.alignment import change, patches_met
from vitbias.automorphisms import automorphisms
from vitbias.claims.chapter07 import (
    RECORDED_DEFECT,
    RECORDED_PERMUTATION,
    RECORDED_POSITIONS,
    RECORDED_TOKENS,
)
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_attention, exact_softmax
from vitbias.formatting import below, fmt
from vitbias.patches import patchify
from vitbias.photographs import photograph
from vitbias.positions import relative_bias, relative_index
from vitbias.rank import exact_rank
from vitbias.resizing import METHODS, resize_operator, resize_table
from vitbias.symmetry import equivariance_defect, permutations, permute

__all__ = ["CLAIMS", "PUBLISHED_RESIZING", "token_change"]

PATCH = 16
# what the released code of ViT and of DeiT does, and the third that is often taken for one of them
PUBLISHED_RESIZING = {
    "ViT": "align-corners linear",
    "neither": "half-pixel linear",
    "DeiT": "half-pixel cubic",
}


def token_change(pixels: np.ndarray, patch: int, shift: int) -> tuple[Fraction, Fraction]:
    """Change of the patches under a circular shift to the right: slot by slot, and at best.

    "At best" moves the new patches back by whole slots, to the nearest on either side.
    """
    before, after = (patchify(np.roll(pixels, step, axis=1), patch) for step in (0, shift))
    columns = pixels.shape[1] // patch

    def back(steps: int) -> Fraction:
        rows = np.roll(after.reshape(-1, columns, after.shape[1]), -steps, axis=1)
        return Fraction(change(before, rows.reshape(before.shape)))

    return back(0), min(back(shift // patch), back(shift // patch + 1))


def _slots() -> Evidence:
    """Four slots, two of them with equal rows: which of the 24 permutations survive, in fractions."""
    table = np.array([[2, 0], [-1, 1], [2, 0], [0, -2]])
    rng = np.random.default_rng(81)
    samples = [np.zeros((4, 2), dtype=int), *rng.integers(-2, 3, (3, 4, 2))]

    def layer(x: np.ndarray) -> np.ndarray:
        return exact_attention(x + table, x + table, x + table)

    survive = {
        perm
        for perm in permutations(4)
        if all(equivariance_defect(layer, x, perm) == 0 for x in samples)
    }
    keep = {perm for perm in permutations(4) if (table[list(perm)] == table).all()}
    hold(survive == keep == {(0, 1, 2, 3), (2, 1, 0, 3)}, f"{survive} survive")
    rows = [(side // 16) ** 2 + 1 for side in (224, 384)]
    return {
        "permutations that survive": f"{len(survive)} of 24",
        "numbers": fmt(rows[0] * 768),
        "rows at 224 and 384 px": fmt(rows),
    }


def _offsets() -> Evidence:
    """Offsets by listing all pairs of places, windows of 1 to 9 tokens a side."""
    for side in range(1, 10):
        places = list(product(range(side), repeat=2))
        found = {(a - c, b - d) for (a, b), (c, d) in product(places, places)}
        hold(len(found) == (2 * side - 1) ** 2, f"{len(found)} offsets at side {side}")
        hold(int(relative_index(side, side).max()) + 1 == len(found), "the library's index")
    return {"pairs in a window of 7 x 7": fmt(7**4), "offsets": fmt(13**2)}


def _invisible() -> Evidence:
    """Tables that change no attention: the null space of D(offset of i, j) - c(i) = 0, windows 1 to 4."""
    seen = []
    for side in range(1, 5):
        index = relative_index(side, side)
        tokens, offsets = len(index), int(index.max()) + 1
        rows = np.zeros((tokens**2, offsets + tokens), dtype=int)
        for number, (i, j) in enumerate(product(range(tokens), repeat=2)):
            rows[number, index[i, j]], rows[number, offsets + i] = 1, -1
        hold(exact_rank(rows).nullity == 1, f"side {side}")
        seen.append(offsets - 1)
    return {"numbers that count, windows 1 to 4": fmt(seen), "window 7": fmt(13**2 - 1)}


def _groups() -> Evidence:
    """Automorphisms by search, grids of 1 to 6 and 14 tokens a side; which ones, on a torus."""
    for side in (1, 2, 3, 4, 5, 6, 14):
        torus = automorphisms(relative_index(side, side, torus=True))
        grid = np.arange(side**2).reshape(side, side)
        rolls = {
            tuple(np.roll(grid, step, (0, 1)).ravel().tolist())
            for step in product(range(side), repeat=2)
        }
        hold(torus.order == side**2, f"torus of side {side}: {torus}")
        hold(set(torus.generators) <= rolls, "all of them are translations")
        flat = automorphisms(relative_index(side, side)).order
        hold(flat == 1, f"grid of side {side}: {flat}")
    index = relative_index(3, 3, torus=True)
    perms = np.array(list(permutations(8)))  # those that keep the last token, as the diagonal does
    perms = np.column_stack([perms, np.full(len(perms), 8)])
    for i, j in np.ndindex(9, 9):
        perms = perms[index[perms[:, i], perms[:, j]] == index[i, j]]
    hold(len(perms) == 1, "only the identity fixes a token")
    return {"offsets, torus of 14 x 14": fmt(14**2), "offsets, grid": fmt(1)}


def _translations() -> Evidence:
    """All nine translations of 3 x 3 tokens, in fractions: bias on a torus, bias on a grid, table."""
    rng = np.random.default_rng(83)
    tokens = rng.integers(-2, 3, (9, 2))
    grid = np.arange(9).reshape(3, 3)
    rolls = [np.roll(grid, step, (0, 1)).ravel() for step in product(range(3), repeat=2)]
    wrapped = relative_bias(rng.permutation(9)[:, None], 3, 3, torus=True)[0]
    flat = relative_bias(rng.permutation(25)[:, None], 3, 3)[0]
    table = np.arange(18).reshape(9, 2) % 11
    hold(len(np.unique(table, axis=0)) == len(table), "rows that are not distinct")

    def layer(x: np.ndarray, bias: np.ndarray, where: np.ndarray) -> np.ndarray:
        z = x + where
        return np.asarray(exact_softmax(z @ z.T + bias) @ z)

    cases = {
        "bias on a torus": (wrapped, 0 * table),
        "bias on a grid": (flat, 0 * table),
        "table": (0 * flat, table),
    }
    found = {
        name: sum(
            equivariance_defect(partial(layer, bias=bias, where=where), tokens, roll) == 0
            for roll in rolls
        )
        for name, (bias, where) in cases.items()
    }
    hold(list(found.values()) == [9, 1, 1], f"{found}")
    return {name: f"{count} of 9 translations" for name, count in found.items()}


def _three_results() -> Evidence:
    """One integer table of 14 x 14 to 24 x 24 in fractions; which entries agree under all three."""
    table = np.random.default_rng(84).integers(-9, 10, (14**2, 1))
    grids = {name: resize_table(table, 14, 24, m) for name, m in PUBLISHED_RESIZING.items()}
    norms = {}
    for first, second in (("ViT", "neither"), ("neither", "DeiT"), ("ViT", "DeiT")):
        gap = grids[first] - grids[second]
        norms[f"{first} - {second}"] = sqrt((gap**2).sum() / (table.astype(object) ** 2).sum())
        hold((gap != 0).any(), f"{first} and {second} agree")
    return {name: fmt(norm, 3) for name, norm in norms.items()}


def _new_slots() -> Evidence:
    """Rank of U ⊗ U over the rationals: 3 to 5 slots in full, 14 to 24 by the axis."""
    for method in METHODS:
        small = resize_operator(3, 5, method)
        hold(exact_rank(np.kron(small, small)).rank == 9, f"{method}: 3 to 5")
        hold(exact_rank(resize_operator(14, 24, method)).rank == 14, f"{method}: 14 to 24")
    return {"dimensions reached": f"{14**2} of {24**2}", "operators": fmt(len(METHODS))}


def _round_trips() -> Evidence:
    """Up to 24 and back, per axis and for the table; and which refinements lose nothing."""
    found = {}
    for name, wanted in (("ViT", 0.4432), ("neither", 0.4379), ("DeiT", 0.0845)):
        method = PUBLISHED_RESIZING[name]
        up, down = (resize_operator(*s, method).astype(float) for s in ((14, 24), (24, 14)))
        axis = down @ up
        found[name] = np.linalg.norm(axis - np.eye(14), 2)
        hold(abs(found[name] - wanted) < 5e-5, f"{name}: {found[name]}")
    for method, new in (("align-corners linear", 27), ("half-pixel cubic", 42)):
        up, down = resize_operator(14, new, method), resize_operator(new, 14, method)
        hold((down @ up == np.eye(14, dtype=int)).all(), f"{method}, 14 to {new} and back")
    ranks = {
        exact_rank(resize_operator(old, new, method)).rank == min(old, new)
        for old, new in product(range(1, 8), repeat=2)
        for method in METHODS
    }
    hold(ranks == {True}, "rank of one axis")
    return {f"{name}, per axis": fmt(norm, 4) for name, norm in found.items()}


def _lattice() -> Evidence:
    """All shifts of small pictures with distinct pixels: whole patches move at multiples of P only."""
    for side, patch in ((6, 3), (8, 4), (6, 2)):
        picture = np.arange(side**2).reshape(side, side, 1)
        old = {tuple(row) for row in patchify(picture, patch)}
        owner = {pixel: row for row in old for pixel in row}
        for shift in product(range(side), repeat=2):
            new = [tuple(row) for row in patchify(np.roll(picture, shift, (0, 1)), patch)]
            off = sum(step % patch > 0 for step in shift)
            meets = {len({owner[pixel] for pixel in row}) for row in new}
            hold(meets == {2**off}, f"side {side}, shift {shift}: {meets}")
            hold((set(new) == old) == (off == 0), f"side {side}, shift {shift}")
            hold(off == 0 or not old & set(new), f"side {side}, shift {shift}")
    return {"old patches in a new one": "1, 2 or 4", "shifts": fmt(6**2 + 8**2 + 6**2)}


def _alignment() -> Evidence:
    """A photograph shifted by half a patch and by a whole one; an object of 8 px at all 16 phases."""
    pixels = photograph("flower").pixels
    half, whole = (token_change(pixels, PATCH, shift) for shift in (PATCH // 2, PATCH))
    hold(half[0] == half[1] > 0.1, f"half a patch: {half}")
    hold(whole[0] > half[0] and whole[1] == 0, f"a whole patch: {whole}")
    cut = sum(patches_met(8, PATCH, phase) > 1 for phase in range(PATCH))
    hold(cut == 7, f"{cut} phases cut the object")
    return {
        "half a patch": fmt(float(half[1]), 3),
        "a whole patch, slot by slot": fmt(float(whole[0]), 3),
        "a whole patch, moved back": fmt(whole[1]),
        "alignments that cut an object of 8 px": f"{cut} of {PATCH}",
    }


def _pixels() -> Evidence:
    """A content-only layer and a sum, in fractions: blind to a patch's shift, not to a pixel's."""
    picture = np.random.default_rng(87).integers(0, 4, (6, 6, 1))

    def read_out(shift: int) -> list[object]:
        x = patchify(np.roll(picture, shift, axis=1), 3) - 1
        return list(exact_attention(x, x, x).sum(axis=0))

    same = [shift for shift in range(6) if read_out(shift) == read_out(0)]
    hold(same == [0, 3], f"equal read-outs at shifts {same}")
    return {"shifts of 0 to 5 px with an equal read-out": fmt(same)}


def _recorded() -> Evidence:
    """The recorded defect once more, with loops; then all six permutations with moved positions."""

    def layer(rows: np.ndarray) -> list[list[float]]:
        out = []
        for query in rows:
            powers = [exp(fsum(query * key) / sqrt(2)) for key in rows]
            total = fsum(powers)
            columns = zip(*rows.tolist(), strict=True)
            out.append(
                [fsum(p * v for p, v in zip(powers, c, strict=True)) / total for c in columns]
            )
        return out

    def defect(perm: tuple[int, ...], along: bool) -> float:
        where = permute(RECORDED_POSITIONS, perm) if along else RECORDED_POSITIONS
        moved = np.array(layer(permute(RECORDED_TOKENS, perm) + where))
        plain = np.array(layer(RECORDED_TOKENS + RECORDED_POSITIONS))
        return float(np.linalg.norm(moved - permute(plain, perm)))

    fixed = defect(RECORDED_PERMUTATION, along=False)
    hold(abs(fixed / RECORDED_DEFECT - 1) < 1e-12, f"defect {fixed}")
    others = [defect(perm, along=False) for perm in permutations(3)]
    hold(sum(value > 0.1 for value in others) == 5, f"defects {others}")
    along = max(defect(perm, along=True) for perm in permutations(3))
    return {"positions stay": fmt(fixed, 12), "positions move along": below(along, 1e-14)}


_record = partial(Claim, place="position", chapter="08_position_signals")

CLAIMS = (
    _record(
        id="R8.1",
        statement="A table of positions gives each slot an identity; only equal rows stay exchangeable.",
        tier="exact",
        assumptions=("table added to the tokens", "for all contents and weights"),
        fails_when="the table moves along with the tokens",
        evidence=_slots,
    ),
    _record(
        id="R8.2",
        statement="A relative bias describes relations: it depends on the offset of two tokens only.",
        tier="exact",
        assumptions=("one bias for each offset", "square window"),
        fails_when="the bias also depends on where the pair is",
        evidence=_offsets,
    ),
    _record(
        id="T32",
        statement="Of the numbers in a relative bias table all but one can be seen in the attention.",
        tier="exact",
        assumptions=("softmax over each row", "every token may see itself"),
        fails_when="the diagonal is masked, or other columns join the softmax",
        evidence=_invisible,
    ),
    _record(
        id="T10",
        statement="A generic relative bias keeps exactly the translations, and only if the grid wraps.",
        tier="exact",
        assumptions=("different offsets, different values", "square grid"),
        fails_when="the grid has a border: then nothing but the identity is kept",
        evidence=_groups,
    ),
    _record(
        id="R8.3",
        statement="Absolute and relative positions both tell places apart but react differently to a shift.",
        tier="exact",
        assumptions=("distinct table rows", "grid that wraps round", "generic bias"),
        fails_when="the grid has a border: then both lose every translation",
        evidence=_translations,
    ),
    _record(
        id="R8.4",
        statement="Three common ways to resize one position table give three different tables.",
        tier="exact",
        assumptions=("14 to 24 slots a side", "as in released code"),
        fails_when="old and new grid are equal: then all of them change nothing",
        evidence=_three_results,
    ),
    _record(
        id="R8.5",
        statement="A resized table fills new positions with mixtures and never reaches all directions.",
        tier="exact",
        assumptions=("linear resizing along both axes", "larger grid"),
        fails_when="the table is trained on at the new size",
        evidence=_new_slots,
    ),
    _record(
        id="T11",
        statement="Linear resizing of a position table has full rank: enlarging keeps all, shrinking not.",
        tier="exact",
        assumptions=("linear kernels; cubic ones at the sizes checked", "no training in between"),
        fails_when="the released way back is used: it undoes an enlargement at lucky sizes only",
        evidence=_round_trips,
    ),
    _record(
        id="T7",
        statement="A pixel shift permutes the patches of every picture only at multiples of the patch side.",
        tier="exact",
        assumptions=(
            "picture wraps round",
            "non-overlapping patches",
            "two patches a side or more",
        ),
        fails_when="the picture is special, such as one flat colour",
        evidence=_lattice,
    ),
    _record(
        id="R8.6",
        statement="Moving a scene and changing its alignment with the patches are two changes, not one.",
        tier="measured",
        assumptions=("one photograph that wraps round", "horizontal shifts", "raw patches"),
        fails_when="shifts are multiples of the patch side: then the alignment stays",
        evidence=_alignment,
    ),
    _record(
        id="R8.7",
        statement="Exact token permutation symmetry does not give exact symmetry under pixel shifts.",
        tier="exact",
        assumptions=("content-only layer", "invariant read-out", "non-overlapping patches"),
        fails_when="the shift is a multiple of the patch side",
        evidence=_pixels,
    ),
    _record(
        id="R8.8",
        statement="Positions that stay in place break the shuffle identity; moved along they restore it.",
        tier="exact",
        assumptions=("reconstructed inputs for the recorded number", "relative agreement of 1e-12"),
        fails_when="the permutation only exchanges slots with equal positions",
        evidence=_recorded,
    ),
)
