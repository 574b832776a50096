"""Claims of chapter 8 about schemes of positions: distances, rows and columns, rotary turns, the origin."""

from fractions import Fraction
from functools import partial
from itertools import product
from math import factorial, sqrt

import numpy as np

from vitbias.automorphisms import automorphisms
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_attention
from vitbias.formatting import below, fmt
from vitbias.positions import (
    grid_table,
    relative_index,
    row_column_sum,
    row_column_table,
    sine_cosine_line,
    sine_cosine_table,
)
from vitbias.rank import exact_rank
from vitbias.rotary import exact_phases, rotary_phases, rotary_scores, torus_phases, turn_classes

__all__ = ["BEIT_EXTRA", "CLAIMS", "VIT_TABLE_8", "distances"]

FIVE = (Fraction(3, 5), Fraction(4, 5))
# ViT, arXiv:2010.11929v2, table 8: ViT-B/16, ImageNet 5-shot linear, signal added once at the input
VIT_TABLE_8 = {"none": 0.61382, "1-D": 0.64206, "2-D": 0.64001, "relative": 0.64032}
BEIT_EXTRA = 3  # offsets that BEiT's code gives to pairs with the class token


def distances(rows: int, columns: int, norm: str = "Euclid", *, torus: bool = False) -> np.ndarray:
    """Distances of all pairs of places, (N, N) integers; those of Euclid squared."""
    places = np.array(list(product(range(rows), range(columns))))
    gap = abs(places[:, None] - places[None, :])
    gap = np.minimum(gap, [rows, columns] - gap) if torus else gap
    if norm == "Euclid":
        return np.asarray((gap**2).sum(axis=2))
    return np.asarray(gap.sum(axis=2) if norm == "sum" else gap.max(axis=2))


def _distances() -> Evidence:
    """Orders of the groups by search; on small grids the motions themselves, one by one."""
    for side in (1, 2, 3, 4, 5, 7, 10, 14):
        torus = automorphisms(distances(side, side, torus=True)).order
        hold(torus == (8 * side**2 if side > 2 else (1, 8)[side - 1]), f"torus {side}: {torus}")
        flat = automorphisms(distances(side, side)).order
        hold(flat == (8 if side > 1 else 1), f"grid {side}: {flat}")
    for torus, step in product((False, True), ((0, 0), (1, 2))):
        for flip, turn in product((1, -1), range(4)):
            grid = np.rot90(np.arange(25).reshape(5, 5)[::flip], turn)
            perm = np.roll(grid, step if torus else (0, 0), (0, 1)).ravel()
            matrix = distances(5, 5, torus=torus)
            hold((matrix[np.ix_(perm, perm)] == matrix).all(), f"turn {turn}, {flip}")
    hold(automorphisms(distances(3, 5)).order == 4, "rectangle")
    hold(automorphisms(distances(3, 5, torus=True)).order == 4 * 15, "rectangle that wraps")
    others = {
        "sum of axes, torus of 4": automorphisms(distances(4, 4, "sum", torus=True)).order,
        "larger axis, torus of 2": automorphisms(distances(2, 2, "larger", torus=True)).order,
        "larger axis, torus of 3": automorphisms(distances(3, 3, "larger", torus=True)).order,
    }
    hold([*others.values()] == [384, 24, factorial(9)], f"{others}")
    return {
        "torus of 14": fmt(8 * 14**2),
        "grid of 14": "8",
        **{k: fmt(n) for k, n in others.items()},
    }


def _same_table() -> Evidence:
    """A table as a grid of vectors: row by row the same numbers, and the same outputs in fractions."""
    rng = np.random.default_rng(91)
    grid, tokens = rng.integers(-2, 3, (2, 3, 2)), rng.integers(-2, 3, (6, 2))
    line = np.array([grid[slot // 3, slot % 3] for slot in range(6)])
    outputs = [exact_attention(z, z, z) for z in (tokens + line, tokens + grid_table(grid))]
    hold((outputs[0] == outputs[1]).all(), "outputs differ")
    hold(grid_table(np.zeros((14, 14, 768))).size == 196 * 768, "another number of parameters")
    return {"numbers, 14 x 14 x 768": fmt(14 * 14 * 768), "numbers, 196 x 768": fmt(196 * 768)}


def _row_column() -> Evidence:
    """Ranks over the rationals: sums and pairs of rows and columns, a sine-cosine table, a free table."""
    rng = np.random.default_rng(92)
    for rows, columns, width in product((1, 3, 4), (2, 3), (1, 4, 9)):
        r, c = rng.integers(-99, 100, (rows, width)), rng.integers(-99, 100, (columns, width))
        most = rows + columns - 1
        hold(exact_rank(row_column_sum(r, c)).rank == min(width, most), "sum")
        hold(exact_rank(row_column_table(r, c)).rank <= min(2 * width, most), "side by side")
    wide = rng.integers(-99, 100, (2, 14, 30))
    found = exact_rank(row_column_sum(*wide)).rank
    hold(found == exact_rank(row_column_table(*wide)).rank == 27, f"14 x 14: {found}")
    free = exact_rank(rng.integers(-99, 100, (196, 30))).rank
    hold(free == 30, f"free table of width 30: {free}")
    # the halves of MAE's table: all of R^14 each, and the constants twice
    hold(exact_rank(sine_cosine_line(14, 384)).rank == 14, "sine-cosine line")
    values = np.linalg.svd(sine_cosine_table(14, 14, 768), compute_uv=False)
    large = [int((values > tolerance * values[0]).sum()) for tolerance in (1e-6, 1e-12)]
    hold(large == [23, 27], f"{large}")
    # offsets of a window: rows and columns would give each head a matrix of rank 2
    window = exact_rank(rng.integers(-99, 100, (13, 13))).rank
    hold(window == 13, f"offsets of a window of 7: rank {window}")
    return {
        "14 x 14, from rows and columns": fmt(found),
        "14 x 14, free, from width 196 on": fmt(196),
        "sine-cosine, above 1e-6 and 1e-12 of the largest": fmt(large),
    }


def _turns() -> Evidence:
    """Scores from the definition with offsets, in fractions; survivors on tori and inside borders."""
    rng = np.random.default_rng(93)
    query, key = rng.integers(-3, 4, (2, 6, 4))
    scores = rotary_scores(query, key, exact_phases(2, 3, [FIVE]))
    for (i, j), (k, m) in product(product(range(2), range(3)), repeat=2):
        wanted = Fraction(0)
        for plane, steps in enumerate((k - i, m - j)):
            x, y = (Fraction(int(v)) for v in key[3 * k + m, 2 * plane : 2 * plane + 2])
            for _ in range(abs(steps)):
                c, s = FIVE[0], FIVE[1] if steps > 0 else -FIVE[1]
                x, y = c * x - s * y, s * x + c * y
            a, b = (int(v) for v in query[3 * i + j, 2 * plane : 2 * plane + 2])
            wanted += a * x + b * y
        hold(scores[3 * i + j, 3 * k + m] == wanted, f"pair {(i, j)}, {(k, m)}")
    for side in (1, 2, 3, 5, 14):
        wraps = automorphisms(turn_classes(torus_phases(side, side, 8))).order
        flat = automorphisms(turn_classes(rotary_phases(side, side, 8))).order
        hold((wraps, flat) == (side**2, 1), f"side {side}: {wraps}, {flat}")
    quarter = automorphisms(turn_classes(exact_phases(4, 4, [(0, 1)]))).order
    hold(quarter == 16, f"quarter turns: {quarter}")
    return {"torus of 14": fmt(14**2), "grid of 14": "1", "torus of 4, exact": fmt(quarter)}


def _origin() -> Evidence:
    """The origin moves by (3, 5): relative index, exact rotary scores, Gram matrix, and the tables."""
    step = np.array([3, 5])
    places = np.array(list(product(range(4), repeat=2)))
    for where in (places, places + step):
        down, right = np.moveaxis(where[:, None] - where[None, :], -1, 0)
        index = (down + 3) * 7 + right + 3
        hold((index == relative_index(4, 4)).all(), "relative index")
    query, key = np.random.default_rng(94).integers(-3, 4, (2, 16, 4))
    moved, plain = (
        rotary_scores(query, key, exact_phases(4, 4, [FIVE], origin=origin))
        for origin in ((3, 5), (0, 0))
    )
    hold((moved == plain).all(), "rotary scores")
    there, here = (sine_cosine_table(4, 4, 16, origin=origin) for origin in ((3, 5), (0, 0)))
    table = sqrt(((there - here) ** 2).mean())
    hold(table > 0.1, f"sine-cosine table {table}")
    gram = float(abs(there @ there.T - here @ here.T).max())
    return {
        "sine-cosine table, root mean square": fmt(table, 3),
        "its inner products": below(gram, 1e-12),
        "offsets and rotary scores": "0, exactly",
    }


def _published() -> Evidence:
    """The numbers of ViT's table 8, and the lengths of the offset tables of Swin and BEiT."""
    table = VIT_TABLE_8
    with_places = [table["1-D"], table["2-D"], table["relative"]]
    spread, gain = max(with_places) - min(with_places), min(with_places) - table["none"]
    hold(gain > 12 * spread, f"{gain}, {spread}")
    swin, beit = ((2 * side - 1) ** 2 for side in (7, 14))
    hold(len(np.unique(relative_index(7, 7))) == swin == 169, "Swin")
    hold(len(np.unique(relative_index(14, 14))) + BEIT_EXTRA == beit + 3 == 732, "BEiT")
    return {
        "gain by any positions, points": fmt(100 * gain, 3),
        "between the kinds, points": fmt(100 * spread, 2),
        "Swin, window of 7, a head": fmt(swin),
        "BEiT, 14 x 14, a head": fmt(beit + BEIT_EXTRA),
    }


_record = partial(Claim, place="position", chapter="08_position_signals")

CLAIMS = (
    _record(
        id="V8.1",
        statement="A bias by Euclidean distance also keeps turns and reflections, with a border or not.",
        tier="exact",
        assumptions=(
            "different distances, different values",
            "torus of three tokens a side or more",
            "square grid; rectangles keep half as much",
        ),
        fails_when="distance is the sum or the larger of the axes: small tori then keep more",
        evidence=_distances,
    ),
    _record(
        id="V8.2",
        statement="A learned table with two indices is the table with one index, and knows no more.",
        tier="exact",
        assumptions=("entries free", "slots numbered row by row"),
        fails_when="entries of a row or a column are tied to each other",
        evidence=_same_table,
    ),
    _record(
        id="V8.3",
        statement="Positions made of rows and columns have low rank, whether summed or set side by side.",
        tier="exact",
        assumptions=("one vector for each row and each column",),
        fails_when="each slot has a vector of its own",
        evidence=_row_column,
    ),
    _record(
        id="V8.4",
        statement="Rotary positions keep the translations of a matching torus, and none inside a border.",
        tier="exact",
        assumptions=("different offsets, different turns", "for all tokens and all weights"),
        fails_when="frequencies are so few that two offsets turn alike",
        evidence=_turns,
    ),
    _record(
        id="V8.5",
        statement="Moving the origin changes tables and sine-cosines, not offsets and not rotary scores.",
        tier="exact",
        assumptions=("one shift of all coordinates", "real arithmetic"),
        fails_when="a table is read through inner products with itself only",
        evidence=_origin,
    ),
    _record(
        id="V8.7",
        statement="In ViT's ablation any positions gain far more than one kind gains over another.",
        tier="published",
        assumptions=(
            "ViT-B/16, ImageNet 5-shot linear",
            "arXiv version 2, table 8",
            "no intervals given",
        ),
        fails_when="read as a law: one model and one protocol",
        evidence=_published,
    ),
)
