"""Claims of chapter 5: how a rank is certified."""

from functools import partial
from itertools import combinations, islice
from math import prod

import numpy as np
import sympy

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import fmt
from vitbias.rank import LARGEST_PRIME, QUICK_PRIMES, certified_rank, exact_rank, primes_below

__all__ = ["CLAIMS"]


def _one_prime() -> Evidence:
    """Certified ranks against elimination in integers; then a determinant that the first prime divides."""
    rng = np.random.default_rng(501)
    for shape in ((5, 11), (11, 5), (13, 13)):
        for weight in (rng.integers(-9, 10, shape), rng.normal(size=shape).astype(np.float32)):
            report = certified_rank(weight)
            hold(report.certificate == "modular" and report.proved, f"{shape}: {report}")
            hold(report.rank == exact_rank(weight).rank == min(shape), f"{shape}: {report.rank}")
    unlucky = certified_rank(np.diag([QUICK_PRIMES[0], 1]))
    hold(unlucky.rank == 2 and unlucky.primes == 2, f"an unlucky prime: {unlucky}")
    return {"matrices": fmt(6), "primes after an unlucky one": fmt(unlucky.primes)}


def _enough_primes() -> Evidence:
    """Minors of a small matrix below Hadamard's bound; proofs against elimination; a hidden row."""
    rng = np.random.default_rng(502)
    small = rng.integers(-9, 10, (4, 5))
    lengths = sorted((int(x) for x in (small.astype(object) ** 2).sum(axis=1)), reverse=True)
    minors = 0
    for size in (1, 2, 3, 4):
        for rows in combinations(range(4), size):
            for columns in combinations(range(5), size):
                minor = int(sympy.Matrix(small[np.ix_(rows, columns)]).det())
                hold(minor**2 <= prod(lengths[:size]), f"minor {minor} of size {size}")
                minors += 1
    used = []
    for width, raw, rank in ((7, 11, 3), (13, 5, 2), (17, 17, 11)):
        weight = rng.integers(-9, 10, (width, rank)) @ rng.integers(-9, 10, (rank, raw))
        report, proof = certified_rank(weight), certified_rank(weight, exact=True)
        hold(report.certificate == "three primes" and not report.proved, f"{report}")
        hold(proof.certificate == "integer" and proof.proved, f"{proof}")
        hold(report.rank == proof.rank == exact_rank(weight).rank == rank, f"rank {proof.rank}")
        used.append(proof.primes)
    hidden = prod((*QUICK_PRIMES, *islice(primes_below(LARGEST_PRIME), 1)))
    trap = np.array([[hidden, 0, 0], [0, 1, 1]], dtype=object)
    hold(certified_rank(trap).rank == 1, "four primes hide a row")
    hold(certified_rank(trap, exact=True).rank == 2, "the proof finds it")
    return {"minors below the bound": fmt(minors), "primes of three proofs": fmt(used)}


_record = partial(Claim, place="patch projection", chapter="05_patch_interface")

CLAIMS = (
    _record(
        id="V5.1",
        statement="A matrix of full rank modulo one prime has full rank.",
        tier="exact",
        assumptions=("integers, or floats taken as the fractions that they are",),
        fails_when="the rank modulo the prime is smaller: then it is a lower bound only",
        evidence=_one_prime,
    ),
    _record(
        id="V5.2",
        statement="A rank not exceeded modulo primes beyond every larger minor is the rank.",
        tier="exact",
        assumptions=("primes whose product exceeds Hadamard's bound",),
        fails_when="the primes stop before the bound: they may all divide one minor",
        evidence=_enough_primes,
    ),
)
