"""The size of a symmetry: how many free parameters it leaves.

Notation: as in ``vitbias.symmetry``; G a permutation group of N points, given by generators.

The commutant of a permutation group G is {A in R^(N x N) : AΠ = ΠA for all Π in G}, the linear token
mixings that respect G. Its dimension is the number of orbits of G on ordered pairs (i, j): A commutes with
Π exactly when A[perm[i], perm[j]] = A[i, j] for all i, j, so A is constant on orbits, and the indicator
matrices of the orbits are a basis.

Source: the orbit count is standard.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from vitbias.errors import require_sequence, require_size
from vitbias.symmetry import require_few, require_permutation

__all__ = ["commutant_dimension"]


def commutant_dimension(generators: Iterable[Sequence[int]], points: int) -> int:
    """dim {A : AΠ = ΠA for all Π of the group}, by counting orbits on ordered pairs.

    Generators suffice: a matrix that commutes with them commutes with their products. No generators
    means no symmetry, N². The count joins (i, j) with (perm[i], perm[j]); memory grows with N², so N is
    at most 4,096.

    >>> commutant_dimension([(1, 0, 2), (1, 2, 0)], 3)
    2

    Raises
    ------
    GeometryError, ShapeError
    """
    points = require_size("points", points)
    require_few(points)
    label = np.arange(points * points).reshape(points, points)
    moves = [
        require_permutation(perm, points) for perm in require_sequence("generators", generators)
    ]
    while True:
        before = label
        for images in moves:
            moved = label[np.ix_(images, images)]
            low, high = np.minimum(label, moved).ravel(), np.maximum(label, moved).ravel()
            root = np.arange(points * points)
            np.minimum.at(root, high, low)
            label = root[label.ravel()].reshape(points, points)
        if np.array_equal(label, before):
            return len(np.unique(label))
