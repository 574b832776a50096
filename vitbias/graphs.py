"""Block graphs: who may read whom in one block, and who has read whom after several, in packed bits.

Notation: N tokens in, M tokens out; R (M, N) truth values, row i: what token i can depend on; a row is packed
into ⌈N/64⌉ words of 64 bits. One block turns R into (G or I) R, a boolean product.

    Partition   equal labels read each other: windows of any shape, shifted, cyclic or dilated
    Merging     tokens of one label become one token: patch merging, merged or dropped tokens
    dense       any mask (M, N); square ones keep each token's own past, the residual path

A partition costs a union for each class and no pairs: about 2·N·N/64 words a block. A mask with few keys is
walked key by key, O(N·keys·N/64) words; one with many is cut into groups of eight keys, whose 256 unions are
formed once (Arlazarov, Dinic, Kronrod and Faradzev 1970), O(N·N/8·N/64) words.

Source: the review, section 9, for reach as a boolean product.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_array
from vitbias.attention import require_mask
from vitbias.errors import GeometryError, Literal, ShapeError, ValuesError, require_sequence

__all__ = ["Dense", "Graph", "Merging", "Partition", "as_graphs"]

MOST_TOKENS = 2**15  # 128 MiB of packed pairs
FEW_KEYS = 512  # up to here a query's keys are walked one by one
GROUP, BATCH, CHUNK = 8, 8, 512  # keys of one table, tables at a time, queries at a time


@dataclass(frozen=True, eq=False)
class Partition:
    """A block in which tokens with equal labels read each other.

    labels : (N,) integers, not modified

    Raises
    ------
    ShapeError : no line of labels
    ValuesError : no integers
    """

    labels: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _labels(self.labels))

    @property
    def sizes(self) -> tuple[int, int]:
        """(N, N): tokens out, tokens in."""
        return len(self.labels), len(self.labels)

    def mask(self) -> Array:
        """The same as a dense mask, (N, N) truth values."""
        return np.asarray(self.labels[:, None] == self.labels)

    def after(self, packed: Array) -> Array:
        """Rows of bits after the block."""
        return _unions(self.labels, packed)[self.labels]

    def heard(self, tokens: Array) -> Array:
        """Who has heard it after the block, if ``tokens`` had before; truth values."""
        classes = np.zeros(int(self.labels.max()) + 1, dtype=bool)
        classes[self.labels[tokens]] = True
        return classes[self.labels]


@dataclass(frozen=True, eq=False)
class Merging:
    """A change of N: tokens with the label m become token m.

    labels : (N,) integers 0…M-1, each of them present; not modified

    Raises
    ------
    ShapeError : no line of labels
    ValuesError : no integers, or labels with gaps
    """

    labels: Array

    def __post_init__(self) -> None:
        labels = _labels(self.labels)
        given = require_array("labels", self.labels, "tokens")
        if (given != labels).any():
            wrong = np.setdiff1d(np.arange(given.max() + 1), given)
            got = Literal(f"none with label {wrong[0]}" if len(wrong) else "a negative one")
            raise ValuesError("labels", expected="0 to M - 1, each present", got=got)
        object.__setattr__(self, "labels", labels)

    @property
    def sizes(self) -> tuple[int, int]:
        """(M, N): tokens out, tokens in."""
        return int(self.labels.max()) + 1, len(self.labels)

    def mask(self) -> Array:
        """The same as a dense mask, (M, N) truth values."""
        return np.asarray(np.arange(self.sizes[0])[:, None] == self.labels)

    def after(self, packed: Array) -> Array:
        """Rows of bits after the merging."""
        return _unions(self.labels, packed)

    def heard(self, tokens: Array) -> Array:
        """Which merged tokens hold one of ``tokens``; truth values."""
        merged = np.zeros(self.sizes[0], dtype=bool)
        merged[self.labels[tokens]] = True
        return merged


@dataclass(frozen=True, eq=False)
class Dense:
    """A mask as it is applied: with the residual path where it is square."""

    allowed: Array

    @property
    def sizes(self) -> tuple[int, int]:
        """(M, N): tokens out, tokens in."""
        return self.allowed.shape[0], self.allowed.shape[1]

    def mask(self) -> Array:
        """The mask itself."""
        return self.allowed

    def after(self, packed: Array) -> Array:
        """Rows of bits after the block; queries with equal masks share their row."""
        first: dict[bytes, int] = {}
        rows = np.packbits(self.allowed, axis=1)
        twin = np.array([first.setdefault(row.tobytes(), len(first)) for row in rows])
        if len(first) == len(twin):
            return _product(self.allowed, packed)
        distinct = np.unique(twin, return_index=True)[1]
        return np.asarray(_product(self.allowed[distinct], packed)[twin])

    def heard(self, tokens: Array) -> Array:
        """Who has heard it after the block, if ``tokens`` had before; truth values."""
        return np.asarray(self.allowed[:, tokens].any(axis=1))


Graph = Partition | Merging | Dense


def as_graphs(field: str, value: Any) -> list[Graph]:
    """Block graphs that follow each other, first block first: partitions, mergings and dense masks.

    Raises
    ------
    ShapeError : none, or one with other tokens than the one before puts out
    ValuesError : a mask without truth values, or with a query that may use no key
    GeometryError : more than 32,768 tokens; where rows and columns can be treated apart, they need no pairs
    """
    graphs: list[Graph] = []
    for item in require_sequence(field, value):
        tokens = graphs[-1].sizes[0] if graphs else None
        graph = item if isinstance(item, Partition | Merging) else _dense(item, tokens)
        if tokens is not None and graph.sizes[1] != tokens:
            raise ShapeError(field, expected=f"a block of {tokens} tokens", got=graph.sizes[1])
        if max(graph.sizes) > MOST_TOKENS:
            hint = "windows of a grid can be treated line by line (grid_depth)"
            expected = f"at most {MOST_TOKENS:,} tokens"
            raise GeometryError(field, expected=expected, got=max(graph.sizes), hint=hint)
        graphs.append(graph)
    if not graphs:
        raise ShapeError(field, expected="at least one mask", got=graphs)
    return graphs


def first_after(graph: Graph) -> Array:
    """R after the first block: the mask itself, packed."""
    if not isinstance(graph, Dense):
        return graph.after(packed_identity(graph.sizes[1]))
    queries, keys = graph.sizes
    octets = np.zeros((queries, 8 * -(-keys // 64)), dtype=np.uint8)
    octets[:, : -(-keys // 8)] = np.packbits(graph.allowed, axis=1, bitorder="little")
    return octets.view("<u8").astype(np.uint64, copy=False)


def packed_identity(tokens: int) -> Array:
    """The N x N identity as rows of bits, (N, ⌈N/64⌉) words."""
    packed = np.zeros((tokens, -(-tokens // 64)), dtype=np.uint64)
    token = np.arange(tokens)
    packed[token, token // 64] = np.uint64(1) << (token % 64).astype(np.uint64)
    return packed


def unpacked(packed: Array, tokens: int) -> Array:
    """Rows of bits as truth values, (M, N)."""
    octets = packed.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=tokens, bitorder="little").astype(bool)


def _labels(value: Any) -> Array:
    """Labels as 0, 1, … in the order of their values, read-only."""
    labels = require_array("labels", value, "tokens")
    if labels.dtype.kind == "f":
        raise ValuesError("labels", expected="integers", got=labels)
    _, found = np.unique(labels, return_inverse=True)
    found.flags.writeable = False
    return found


def _dense(item: Any, tokens: int | None) -> Dense:
    mask = as_array("mask", item)
    if mask.ndim != 2 or 0 in mask.shape:
        raise ShapeError("mask", expected="axes (queries, keys)", got=item)
    mask = require_mask(mask, len(mask), mask.shape[1] if tokens is None else tokens)
    if mask.shape[0] == mask.shape[1]:
        mask = mask | np.eye(len(mask), dtype=bool)
    return Dense(mask)


def _unions(labels: Array, packed: Array) -> Array:
    """For each label the union of the rows that have it."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    return np.asarray(np.bitwise_or.reduceat(packed[order], starts, axis=0))


def _product(mask: Array, packed: Array) -> Array:
    """The boolean product of a mask and rows of bits."""
    few = _keys(mask) <= FEW_KEYS
    result = np.empty((len(mask), packed.shape[1]), dtype=np.uint64)
    everything = np.bitwise_or.reduce(packed, axis=0)
    for chosen, union in ((few, _key_by_key), (~few, _by_groups)):
        if chosen.all():
            return union(mask, packed, everything)
        if chosen.any():
            result[chosen] = union(mask[chosen], packed, everything)
    return result


def _keys(mask: Array) -> Array:
    """How many keys each query has; bits are counted faster than truth values."""
    return np.asarray(np.bitwise_count(np.packbits(mask, axis=1)).sum(axis=1, dtype=np.int64))


def _key_by_key(mask: Array, packed: Array, everything: Array) -> Array:
    """The n-th key of every query at once; a query with fewer keys takes its last one again."""
    keys = _keys(mask)
    key = np.flatnonzero(mask) % mask.shape[1]
    last = np.cumsum(keys) - 1
    first = last - keys + 1
    result = np.empty((len(mask), packed.shape[1]), dtype=np.uint64)
    spare = np.empty((CHUNK, packed.shape[1]), dtype=np.uint64)
    for rows in _chunks(len(mask)):
        union, place, end = result[rows], first[rows], last[rows]
        more = spare[: len(union)]
        np.take(packed, key.take(place), axis=0, out=union, mode="clip")
        for n in range(1, int(keys[rows].max())):
            np.minimum(place + 1, end, out=place)
            np.take(packed, key.take(place), axis=0, out=more, mode="clip")
            np.bitwise_or(union, more, out=union)
            if n % BATCH == 0 and (union == everything).all():
                break
    return result


def _by_groups(mask: Array, packed: Array, everything: Array) -> Array:
    """Keys in groups of eight: every union of a group's rows is formed once, and looked up."""
    tokens, words = packed.shape
    index = np.packbits(mask, axis=1, bitorder="little")
    result = np.zeros((len(mask), words), dtype=np.uint64)
    tables = np.zeros((BATCH, 2**GROUP, words), dtype=np.uint64)
    spare = np.empty((CHUNK, words), dtype=np.uint64)
    chunks = _chunks(len(mask))
    for start in range(0, tokens, GROUP * BATCH):
        part = packed[start : start + GROUP * BATCH]
        for token, row in enumerate(part):
            table, bit = tables[token // GROUP], token % GROUP
            np.bitwise_or(table[: 2**bit], row, out=table[2**bit : 2 ** (bit + 1)])
        for rows in chunks:
            union = result[rows]
            more = spare[: len(union)]
            looked_up = index[rows, start // GROUP : start // GROUP + BATCH]
            least, most = looked_up.min(axis=0), looked_up.max(axis=0)
            alike = np.flatnonzero((least == most) & (most > 0))
            if len(alike):
                np.bitwise_or(union, np.bitwise_or.reduce(tables[alike, most[alike]]), out=union)
            for number in np.flatnonzero(least < most):
                np.take(tables[number], looked_up[:, number], axis=0, out=more, mode="clip")
                np.bitwise_or(union, more, out=union)
        # rows that hold all that any token knows stay as they are
        chunks = [rows for rows in chunks if (result[rows] != everything).any()]
        if not chunks:
            break
    return result


def _chunks(rows: int) -> list[slice]:
    """Rows that stay in the cache together."""
    return [slice(start, start + CHUNK) for start in range(0, rows, CHUNK)]
