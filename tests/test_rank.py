"""Certificates of a rank: modular ones against elimination, numerical ones against known singular values."""

from fractions import Fraction
from itertools import islice
from math import prod

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import AmbiguousRankError, GeometryError, ShapeError, ValuesError
from vitbias.rank import (
    LARGEST_PRIME,
    QUICK_PRIMES,
    RankReport,
    certified_rank,
    exact_rank,
    flint_matrix,
    integer_rows,
    numerical_rank,
    pivots_modulo,
    primes_below,
    rank_from_sizes,
)

EPS = 2.0**-52
SMALL = st.integers(-3, 3)


def matrices(entries=SMALL, most=5):
    return st.tuples(st.integers(1, most), st.integers(1, most)).flatmap(
        lambda shape: st.lists(
            st.lists(entries, min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        )
    )


def elimination_rank(rows):
    """Gauss in fractions."""
    rows = [[Fraction(entry) for entry in row] for row in rows]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def waist(rng, width, raw, rank, low=-9, high=10):
    """A matrix of at most this rank: d x r times r x D."""
    return rng.integers(low, high, (width, rank)) @ rng.integers(low, high, (rank, raw))


def test_the_primes_are_prime():
    assert all(sympy.isprime(prime) and prime < 2**31 for prime in QUICK_PRIMES)
    assert len({*QUICK_PRIMES}) == 3
    first = [*islice(primes_below(100), 24)]
    assert first == [*reversed([*sympy.primerange(3, 100)])]
    assert next(primes_below(LARGEST_PRIME)) == sympy.prevprime(LARGEST_PRIME)


def test_sizes_alone_prove_an_upper_bound():
    report = rank_from_sizes(5, 11)
    assert (report.rank, report.nullity, report.certificate) == (5, 6, "bound")
    assert (report.at_least, report.at_most, report.proved) == (0, 5, False)
    assert rank_from_sizes(11, 5).nullity == 0
    assert rank_from_sizes(5, 11, generic=True).certificate == "generic"
    with pytest.raises(GeometryError, match=r"^raw: expected an integer >= 1, got 0"):
        rank_from_sizes(5, 0)


@pytest.mark.parametrize("shape", [(5, 11), (11, 5), (7, 7), (1, 1)])
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float16, np.float32, np.float64, object])
def test_full_rank_is_proved_by_one_prime(rng, shape, kind):
    weight = rng.integers(1, 100, shape).astype(kind)
    report = certified_rank(weight)
    assert (report.rank, report.nullity) == (min(shape), shape[1] - min(shape))
    assert (report.certificate, report.primes, report.proved) == ("modular", 1, True)
    assert exact_rank(weight).rank == report.rank


@pytest.mark.parametrize(
    ("width", "raw", "rank"), [(7, 11, 3), (13, 5, 2), (17, 17, 16), (3, 5, 0)]
)
def test_a_deficient_rank_is_bounded_at_once_and_proved_on_request(rng, width, raw, rank):
    weight = waist(rng, width, raw, rank) if rank else np.zeros((width, raw), int)
    report = certified_rank(weight)
    assert (report.rank, report.nullity, report.certificate) == (rank, raw - rank, "three primes")
    assert (report.at_least, report.at_most, report.proved) == (rank, min(width, raw), False)
    steps = []
    proof = certified_rank(weight, exact=True, progress=lambda *step: steps.append(step))
    assert (proof.rank, proof.certificate, proof.proved) == (rank, "integer", True)
    assert steps == [(k, proof.primes) for k in range(1, proof.primes + 1)]
    assert exact_rank(weight).rank == rank


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_all_routes_agree(width, raw, rank, seed, floats):
    weight = waist(np.random.default_rng(seed), width, raw, rank)
    weight = np.ldexp(weight, -3) if floats else weight
    exact = exact_rank(weight).rank
    report, proof = certified_rank(weight), certified_rank(weight, exact=True)
    assert report.at_least <= exact <= report.at_most
    assert report.rank == proof.rank == exact
    assert proof.proved
    assert exact == sympy.Matrix(integer_rows(weight).tolist()).rank()


@given(matrices())
def test_rank_and_nullity(rows):
    report = exact_rank(rows)
    assert report.rank == elimination_rank(rows) == sympy.Matrix(rows).rank()
    assert report.rank + report.nullity == len(rows[0])
    assert (report.certificate, type(report.rank), type(report.nullity)) == ("integer", int, int)
    assert report.tolerance is report.kept is report.dropped is report.gap is None
    assert exact_rank([*zip(*rows, strict=True)]).rank == report.rank
    assert certified_rank(rows).rank == certified_rank(rows, exact=True).rank == report.rank
    assert rank_from_sizes(len(rows), len(rows[0])).nullity <= report.nullity


@given(matrices(st.floats(-1e9, 1e9) | st.fractions(max_denominator=97) | st.integers(-9, 9), 3))
def test_floats_count_as_the_fractions_that_they_are(rows):
    assert exact_rank(rows).rank == elimination_rank(rows)
    assert certified_rank(rows, exact=True).rank == exact_rank(rows).rank
    for row, scaled in zip(rows, integer_rows(rows).tolist(), strict=True):
        assert all(type(entry) is int for entry in scaled)
        factors = {Fraction(s) / Fraction(r) for r, s in zip(row, scaled, strict=True) if r}
        assert len(factors) <= 1
        assert all(factor > 0 for factor in factors)
        assert [s == 0 for s in scaled] == [r == 0 for r in row]


def test_rounding_is_not_forgiven():
    """0.1 · 0.9 = 0.3 · 0.3 in decimals, not in the doubles nearest to them."""
    floats = [[0.1, 0.3], [0.3, 0.9]]
    assert Fraction(0.1) * Fraction(0.9) != Fraction(0.3) * Fraction(0.3)
    assert exact_rank(floats).rank == 2
    assert numerical_rank(floats).rank == 1
    tenths = [[Fraction(1, 10), Fraction(3, 10)], [Fraction(3, 10), Fraction(9, 10)]]
    assert exact_rank(tenths).rank == 1


def test_determinant_decides_for_square_matrices(rng):
    for size in (2, 3, 5):
        weight = rng.integers(-2, 3, (size, size))
        determinant = sympy.Matrix(weight.tolist()).det()
        assert (exact_rank(weight).nullity == 0) == (determinant != 0)
        triangle = np.triu(weight, 1) + np.diag(range(2, size + 2))
        assert exact_rank(triangle).nullity == 0
        assert sympy.Matrix(triangle.tolist()).det() == prod(range(2, size + 2))


def test_unlucky_primes_do_not_fool_it():
    one, two, three = QUICK_PRIMES
    report = certified_rank(np.diag([one, 1, 1]))
    assert (report.rank, report.certificate, report.primes) == (3, "modular", 2)
    all_three = np.diag([one * two * three, 1, 0]).astype(object)
    assert certified_rank(all_three).at_least == 1  # a lower bound, and no more
    assert certified_rank(all_three, exact=True) == RankReport(2, 1, "integer", primes=1)
    two_of_them = np.diag([one * two, 1, 1, 0]).astype(object)
    report = certified_rank(two_of_them)
    assert (report.rank, report.certificate, report.proved) == (3, "three primes", False)
    assert report.primes == 5
    full = np.diag([one * two * three, 1]).astype(object)
    assert certified_rank(full).at_most == 2
    assert certified_rank(full, exact=True).certificate == "modular"
    nothing_left = np.diag([one * two * three] * 2).astype(object)
    assert certified_rank(nothing_left).rank == 0
    late = np.diag([one * two, one * three, 1]).astype(object)
    report = certified_rank(late)  # ranks 1, 2 and 2 modulo the three, then 3
    assert (report.rank, report.certificate, report.primes) == (3, "modular", 4)
    mixed = np.array([[one * two, 0, 1], [0, 1, 0], [0, 0, one * two]], dtype=object)
    assert certified_rank(mixed).rank == 3


def test_primes_stop_only_beyond_the_largest_minor():
    """The second minor is a product of the primes that are tried first: every one of them is needed."""
    primes = [*islice(primes_below(LARGEST_PRIME), 3)]
    hidden = np.array([[prod(primes[:2]), 0], [0, 1]], dtype=object)
    hidden[0, 0] *= prod(QUICK_PRIMES)
    assert certified_rank(hidden).rank == 1
    proof = certified_rank(hidden, exact=True)
    assert (proof.rank, proof.certificate) == (2, "modular")
    product, done = 1, 0
    weight = waist(np.random.default_rng(11), 5, 7, 2)
    squares = [
        sorted(map(int, (side.astype(object) ** 2).sum(axis=1)))[::-1]
        for side in (weight, weight.T)
    ]
    bound = min(prod(lengths[:3]) for lengths in squares)
    while product**2 <= bound:
        product, done = product * primes[done], done + 1
    assert certified_rank(weight, exact=True).primes == done


def test_the_bound_is_that_of_one_row_more():
    """Six primes divide the only minor of 2 rows, and three of them exceed every entry."""
    first = [*islice(primes_below(LARGEST_PRIME), 3)]
    entries = [prod(QUICK_PRIMES[:2]) * first[0], QUICK_PRIMES[2] * prod(first[1:])]
    weight = np.diag(np.array(entries, dtype=object))
    assert prod(first) > weight.max()
    assert certified_rank(weight).rank == 1
    assert certified_rank(weight, exact=True).rank == 2


def test_the_bound_is_the_smaller_of_rows_and_columns():
    """Two equal rows of 997 entries: by rows a minor of 2 is longer by 997 / 2, one prime more."""
    weight = np.full((2, 997), 2**60, dtype=object)
    product = prod(islice(primes_below(LARGEST_PRIME), 2))
    by_columns, by_rows = 2 * 2**120, 997 * 2**120
    assert by_columns < product < by_rows
    for side in (weight, weight.T):
        assert certified_rank(side, exact=True).primes == 2


def test_products_of_residues_do_not_wrap(rng):
    """53-bit numbers times powers of 2: the third column is the sum of the first two, exactly."""
    one, two, four = 2 * rng.integers(2**18, 2**19, (3, 5)) + 1.0
    weight = np.stack([one, np.ldexp(two, -30), one + np.ldexp(two, -30), np.ldexp(four, -60)], 1)
    assert all(Fraction(a) + Fraction(b) == Fraction(c) for a, b, c, _ in weight.tolist())
    assert certified_rank(weight).rank == exact_rank(weight).rank == 3


def test_the_number_of_primes_is_known_beforehand(rng):
    """Many primes, so that an estimate of their lengths would be one off; and a rank found on the way."""
    steps = []
    weight = waist(rng, 53, 47, 31).astype(object) * 10**60
    proof = certified_rank(weight, exact=True, progress=lambda *s: steps.append(s))
    assert (proof.rank, proof.certificate) == (31, "integer")
    assert proof.primes > 50
    assert steps == [(k, proof.primes) for k in range(1, proof.primes + 1)]
    steps.clear()
    first = next(primes_below(LARGEST_PRIME))
    late = np.diag([prod(QUICK_PRIMES) * first, 1, 1, 0]).astype(object)
    proof = certified_rank(late, exact=True, progress=lambda *s: steps.append(s))
    assert (proof.rank, proof.certificate) == (3, "integer")
    assert steps[-1] == (proof.primes, proof.primes)


def test_progress_can_end_the_proof(rng):
    def enough(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certified_rank(waist(rng, 7, 7, 3), exact=True, progress=enough)


def test_entries_of_every_size():
    wide = np.array([[1e-300, 1e300], [1e300, 1e-300]])
    assert certified_rank(wide).rank == 2
    assert certified_rank([[5e-324, 1e308], [0.0, 5e-324]]).certificate == "modular"
    assert certified_rank(np.array([[5e-324, 1e308], [1e-323, 0.0]])).rank == 2
    assert certified_rank(np.array([[2.0, 1e-300], [4.0, 2e-300]])).rank == 1
    assert certified_rank([[Fraction(1, 3), 1], [1, 3]]).rank == 1
    assert certified_rank([[2**80, 2**80 + 1], [1, 1]]).rank == 2
    assert certified_rank(np.array([[2**63, 1], [2**64 - 1, 1]], np.uint64)).rank == 2
    assert certified_rank(np.array([[-(2**63), 1], [2**62, 1]])).rank == 2
    assert integer_rows(np.array([[0.75, -3.0, 0.0]])).tolist() == [[3, -12, 0]]
    assert integer_rows(np.array([[8.0, -24.0]])).tolist() == [[8, -24]]
    assert integer_rows(np.array([[0.5, 1.0], [8.0, 24.0]])).tolist() == [[1, 2], [8, 24]]


def test_pivots_are_the_first_independent_columns():
    matrix = flint_matrix(np.array([[0, 2, 4, 1], [0, 1, 2, 0]]))
    assert pivots_modulo(matrix, 101) == [1, 3]
    assert pivots_modulo(flint_matrix(np.zeros((2, 3), int)), 101) == []


@pytest.mark.parametrize(
    ("weight", "kind"),
    [
        ([[np.nan, 1.0]], ValuesError),
        (np.array([[np.inf, 1.0]]), ValuesError),
        (np.array([[True, False]]), ValuesError),
        (np.zeros((0, 3)), ShapeError),
        ([1, 2], ShapeError),
        ([[1], [1, 2]], ShapeError),
        ("x", ValuesError),
    ],
)
def test_what_has_no_rank(weight, kind):
    with pytest.raises(kind, match=r"^weight: expected "):
        certified_rank(weight)


def reflection(vector):
    """An orthogonal matrix (Householder), so that singular values are known without an SVD."""
    unit = np.array(vector, float) / np.linalg.norm(vector)
    return np.eye(len(unit)) - 2 * np.outer(unit, unit)


@pytest.mark.parametrize("scale", [1.0, 2.0**-1000, 1e-300, 1e-200, 1e200, 1e305])
def test_singular_values_that_are_known(scale):
    values = [13, 11, 7, 5, 3e-3, 0, 0]
    middle = np.zeros((7, 11))
    middle[range(7), range(7)] = values
    weight = reflection([1, 2, 3, 5, 7, 11, 13]) @ middle @ reflection(range(2, 13)) * scale
    report = numerical_rank(weight)
    assert (report.rank, report.nullity, report.certificate) == (5, 6, "numerical")
    assert report.kept == pytest.approx(3e-3 * scale, rel=1e-11)
    assert report.dropped <= report.tolerance
    assert report.tolerance == pytest.approx(11 * EPS * 13 * scale, rel=1e-12)
    assert report.gap > 3e-3 / (11 * EPS * 13) * (1 - 1e-9)
    assert report.rank == np.linalg.matrix_rank(weight)
    assert numerical_rank(weight.T).rank == 5


def test_the_report_of_a_diagonal_matrix_is_exact():
    report = numerical_rank(np.diag([8.0, 2.0, 2.0**-20]), rtol=2.0**-13)
    assert (report.rank, report.nullity) == (2, 1)
    assert report.tolerance == 2.0**-10
    assert report.kept == 2.0
    assert report.dropped == 2.0**-20
    assert report.gap == 2.0**21
    full = numerical_rank(np.diag([8.0, 2.0]), rtol=2.0**-13)
    assert (full.rank, full.nullity, full.dropped, full.gap) == (2, 0, 0.0, np.inf)
    assert all(type(x) is float for x in (full.tolerance, full.kept, full.dropped, full.gap))
    assert type(report.rank) is type(report.nullity) is int


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3)])
@pytest.mark.parametrize("kind", [int, np.float32, np.float64])
def test_nothing_has_rank_nothing(shape, kind):
    report = numerical_rank(np.zeros(shape, kind))
    assert (report.rank, report.nullity, report.certificate) == (0, shape[1], "numerical")
    assert (report.tolerance, report.kept, report.dropped, report.gap) == (0.0, None, 0.0, None)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize(
    ("kind", "extreme"),
    [(np.float64, 1.7e308), (np.float64, 5e-324), (np.float32, 3e38), (np.float32, 1e-45)],
)
def test_the_rank_at_the_ends_of_the_range(kind, extreme, size):
    """s_1 of a constant matrix lies beyond the largest float; the rank does not care."""
    same = numerical_rank(np.full((size, size), extreme, kind))
    assert (same.rank, same.nullity) == (1, size - 1)
    eye = numerical_rank(np.eye(size, dtype=kind) * kind(extreme))
    assert (eye.rank, eye.nullity) == (size, 0)
    assert eye.kept == float(kind(extreme))
    assert same.gap > 0.999 / (size * np.finfo(kind).eps)
    assert eye.gap == np.inf


def test_float32_is_judged_by_its_own_precision(rng):
    weight = rng.normal(size=(5, 3)) @ rng.normal(size=(3, 11))
    single = weight.astype(np.float32)
    assert numerical_rank(weight).rank == numerical_rank(single).rank == 3
    report = numerical_rank(single)
    assert report.tolerance == pytest.approx(
        11 * 2.0**-23 * np.linalg.svd(weight, compute_uv=False)[0], rel=1e-5
    )
    assert numerical_rank(single.astype(">f4")) == report
    # for float64 the rounding to float32 is part of the matrix
    assert numerical_rank(single.astype(np.float64)).rank == exact_rank(single).rank == 5


@pytest.mark.parametrize(
    "singular",
    [
        [1, 0.999 * 1000 * 2 * EPS],
        [1, 2.1 * EPS],
        [7.0 ** -(3 * k) for k in range(11)],
        [10.0**-k for k in range(17)],
    ],
)
def test_singular_values_without_a_gap_have_no_rank(singular):
    weight = np.diag(singular)
    with pytest.raises(AmbiguousRankError) as caught:
        numerical_rank(weight)
    message = str(caught.value)
    assert message.startswith(
        "weight: expected singular values below the tolerance or a factor 1000 above it, got "
    )
    assert message.endswith("; use certified_rank, or name another rtol")
    gap = float("inf") if singular[-1] > 2 * EPS * len(singular) else caught.value.gap
    assert caught.value.gap == gap > 1
    assert exact_rank(weight).rank == len(singular)


@pytest.mark.parametrize(("second", "clear"), [(0.999e-3, False), (1.001e-3, True)])
def test_the_margin_is_judged_at_a_factor_1000(second, clear):
    weight = np.diag([1.0, second])
    if clear:
        assert numerical_rank(weight, rtol=1e-6).rank == 2
    else:
        with pytest.raises(
            AmbiguousRankError, match=r"0\.000999 kept, 0 dropped, gap inf, tolerance 1e-06"
        ):
            numerical_rank(weight, rtol=1e-6)


def test_a_margin_of_exactly_1000_is_enough():
    report = numerical_rank(np.diag([1.0, 1000 * 2.0**-20]), rtol=2.0**-20)
    assert (report.rank, report.kept) == (2, 1000.0 * report.tolerance)


def test_reports_are_frozen():
    for result in (numerical_rank(np.eye(2)), certified_rank(np.eye(2))):
        for name in vars(result):
            with pytest.raises(AttributeError):
                setattr(result, name, None)


@pytest.mark.parametrize("rtol", [0.0, 1.0, -0.5, 2.0, float("nan"), 1, "0.1", True, [0.1]])
def test_rtol_lies_between_0_and_1(rtol):
    with pytest.raises(ValuesError, match=r"^rtol: expected a float between 0 and 1, got "):
        numerical_rank(np.eye(2), rtol=rtol)


def test_longer_floats_beyond_float64_are_refused():
    with pytest.raises(ValuesError, match=r"^weight: expected finite numbers, got "):
        numerical_rank(np.full((2, 2), np.longdouble(2) ** 5000))
    assert numerical_rank(np.eye(3, dtype=np.longdouble)).rank == 3


def test_switches_are_truth_values_and_progress_a_function():
    for call, field in (
        (lambda: certified_rank([[1, 2]], exact="no"), "exact"),
        (lambda: certified_rank([[1, 2]], exact=np.zeros(2)), "exact"),
        (lambda: certified_rank([[1, 2]], progress=3), "progress"),
        (lambda: rank_from_sizes(2, 3, generic="no"), "generic"),
    ):
        with pytest.raises(ValuesError, match=rf"^{field}: expected "):
            call()
