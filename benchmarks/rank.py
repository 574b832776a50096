"""Exact ranks and null vectors: sympy, python-flint, NumPy and vitbias in one run.

The yardstick of each task is NumPy's rank by singular values, which proves nothing, or python-flint where
there is no such rank. sympy gets the sizes that it finishes: ``Matrix.rank`` takes minutes from about
24 x 32 on, and DomainMatrix from 192 x 768 on.
"""

import sys
from time import perf_counter

import numpy as np
import sympy
from flint import fmpz_mat
from timing import Row, best, report

from vitbias.interface import null_vector
from vitbias.rank import certified_rank, exact_rank, flint_matrix

SLOW_SECONDS = 1.0


def ranks(
    task: str, weight: np.ndarray, *, sympy_by: tuple[str, ...] = (), proof: bool = False
) -> list[Row]:
    """Every peer on one matrix; they have to agree."""
    expected = int(np.linalg.matrix_rank(weight.astype(float)))
    peers = {
        "NumPy, singular values": lambda: np.linalg.matrix_rank(weight.astype(float)),
        "python-flint, integers": lambda: exact_rank(weight).rank,
        "vitbias, certificate": lambda: certified_rank(weight).rank,
    }
    if proof:
        peers["vitbias, proof"] = lambda: certified_rank(weight, exact=True).rank
    if "Matrix" in sympy_by:
        peers["sympy, Matrix"] = lambda: sympy.Matrix(weight.tolist()).rank()
    if "DomainMatrix" in sympy_by:
        peers["sympy, DomainMatrix"] = lambda: sympy.Matrix(weight.tolist()).to_DM().rank()
    yardstick = best(peers["NumPy, singular values"])
    rows = []
    for name, work in peers.items():
        start = perf_counter()
        if (found := int(work())) != expected:
            raise AssertionError(f"{task}: {name} says {found}, not {expected}")
        seconds = perf_counter() - start
        if seconds < SLOW_SECONDS:  # what is slow is not measured twice
            seconds = min(seconds, best(work))
        rows.append(Row(task, name, seconds, yardstick))
    return rows


def null_vectors(task: str, weight: np.ndarray) -> list[Row]:
    """One null vector against the whole basis of python-flint, for integers."""
    basis = best(lambda: fmpz_mat(flint_matrix(weight)).nullspace(), 1)
    one = best(lambda: null_vector(weight))
    single = weight.astype(np.float32) / 7
    stored = best(lambda: null_vector(single))
    return [
        Row(task, "python-flint, whole basis", basis, basis),
        Row(task, "vitbias, one vector", one, basis),
        Row(task, "vitbias, one, float32", stored, basis),
    ]


def main() -> None:
    rng = np.random.default_rng(1)
    both, one = ("Matrix", "DomainMatrix"), ("DomainMatrix",)
    rows = ranks("full 12 x 16", rng.integers(-127, 128, (12, 16)), sympy_by=both)
    rows += ranks("full 48 x 64", rng.integers(-127, 128, (48, 64)), sympy_by=one)
    rows += ranks("full 192 x 256", rng.integers(-127, 128, (192, 256)), sympy_by=one)
    rows += ranks("full 192 x 768", rng.integers(-127, 128, (192, 768)))
    for kind in (np.int8, np.float32, np.float64):
        weight = (rng.normal(size=(768, 768)) * 32).astype(kind)
        rows += ranks(f"{weight.dtype} 768 x 768", weight)
    thin = rng.integers(-9, 10, (768, 384)), rng.integers(-9, 10, (384, 768))
    rows += ranks("rank 384 of 768", thin[0] @ thin[1], proof=True)
    rows += null_vectors("null 192 x 768", rng.integers(-127, 128, (192, 768)))
    report("Ranks; the ratio is to NumPy, of null vectors to python-flint.", rows)
    if "--json" not in sys.argv[1:]:
        print("Not run, beyond 20 s: sympy's Matrix from 24 x 32, its DomainMatrix from 192 x 768.")


if __name__ == "__main__":
    main()
