"""Claims of chapter 1: bias belongs to the pipeline."""

from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations, product
from math import comb
from typing import Any

import numpy as np

from vitbias.augmentation import augmented, orbit_average
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_softmax
from vitbias.formatting import fmt
from vitbias.learning import (
    constrained_least_squares,
    from_teacher,
    gradient_descent,
    gradient_descent_limit,
    least_squares,
    ridge,
)
from vitbias.patches import patchify

__all__ = ["CLAIMS", "INPUTS", "LABELS", "LIGHT", "TURNS", "UNSEEN"]

# a ring of six lamps and meters: lamps 0 and 2 have been on, and one of twelve readings is off
TURNS = np.array([np.roll(np.eye(6, dtype=int), turn, axis=0) for turn in range(6)])
LIGHT = TURNS[5] + 2 * TURNS[0] + TURNS[1]
INPUTS = np.array([[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
LABELS = np.array([[2, 1, 0, 0, 0, 1], [0, 1, 2, 1, 1, 0]])
UNSEEN = np.array([0, 0, 1, 0, 1, 0])
BANDS = TURNS[[5, 0, 1]]


def _five_answers() -> Evidence:
    """Five learners on the ring of lamps; the answers worked out by hand from single readings."""
    half = Fraction(1, 2)
    expected = {
        "plain": [0, 1, 2, 1, 1, 0],  # lamp 2 as read, nothing of lamp 4
        "connectivity": [0, 1, 2, 2, 2, 1],  # the bands 1, 2, 1 at both lamps
        "data": [half, 1, 2, 2, 2 + half, 1],  # both readings, turned and averaged
        "optimiser": [0, 1, 2, 1, 2, 0],  # lamp 4 copied
        "teacher": [0, 1, 2, 1, 0, 0],  # lamp 2 as the teacher has it
    }
    learners = {
        "plain": least_squares(INPUTS, LABELS),
        "connectivity": constrained_least_squares(INPUTS, LABELS, BANDS),
        "data": least_squares(*augmented(INPUTS, LABELS, TURNS, TURNS)),
        "optimiser": gradient_descent_limit(INPUTS, LABELS, TURNS[0]),
        "teacher": from_teacher(INPUTS, LIGHT),
    }
    found = {name: (weights @ UNSEEN).tolist() for name, weights in learners.items()}
    hold(found == expected, f"answers {found}")
    hold(len(set(map(tuple, found.values()))) == 5, "five different answers")
    return {name: fmt(answer) for name, answer in found.items()}


def _grid() -> Evidence:
    """Shifts of a picture of distinct pixels that leave the set of its patches unchanged."""
    shares = []
    for side, patch in ((6, 2), (6, 3), (8, 4), (32, 16)):
        picture = np.arange(side * side).reshape(side, side, 1)
        old = set(map(bytes, patchify(picture, patch)))
        kept = [
            shift
            for shift in np.ndindex(side, side)
            if set(map(bytes, patchify(np.roll(picture, shift, (0, 1)), patch))) == old
        ]
        hold(kept == list(product(range(0, side, patch), repeat=2)), f"shifts {kept[:5]}")
        shares.append(Fraction(len(kept), side * side))
    hold(shares == [Fraction(1, patch**2) for patch in (2, 3, 4, 16)], f"shares {shares}")
    return {"share of shifts at patch sides 2, 3, 4, 16": fmt(shares)}


def _free_but_symmetric() -> Evidence:
    """The augmented learner commutes with all turns, the plain one does not; neither is constrained."""
    plain = least_squares(INPUTS, LABELS)
    trained = least_squares(*augmented(INPUTS, LABELS, TURNS, TURNS))
    turn = TURNS[1]
    before = abs(plain @ turn - turn @ plain).max()
    after = abs(trained @ turn - turn @ trained).max()
    hold(before > 0 and after == 0, f"defects {before} and {after}")
    return {"defect without augmentation": fmt(before), "with all turns": fmt(after)}


def _student() -> Evidence:
    """Every set of lamps shown to the student of a one-to-one teacher that commutes with the turns."""
    teacher, turn = LIGHT + TURNS[0], TURNS[1]
    symmetric = []
    for lamps in product([0, 1], repeat=6):
        if any(lamps):
            student = from_teacher(np.diag(lamps), teacher)
            hold((student == teacher * np.array(lamps)).all(), f"lamps {lamps}")
            if (student @ turn == turn @ student).all():
                symmetric.append(lamps)
    hold(symmetric == [(1,) * 6], f"sets {symmetric}")
    return {"sets of lamps": "63", "with a symmetric student": fmt(len(symmetric))}


def _both_ways() -> Evidence:
    """Counting from one sample; then the best function of arrangement-blind inputs, by enumeration."""
    inputs = np.array(list(product([0, 1], repeat=6)))
    sample, ones = np.array([[1, 1, 0, 0, 0, 0]]), np.ones((1, 6), dtype=int)
    weights = constrained_least_squares(sample, [2], ones)
    counted = int((inputs @ weights == inputs.sum(axis=1)).sum())
    plain = int((inputs @ least_squares(sample, [2]) == inputs.sum(axis=1)).sum())
    hold(counted == 64 and plain < 64, f"{counted} and {plain}")
    best = sum(max(comb(5, n), comb(5, n - 1) if n else 0) for n in range(7))
    contents: dict[int, list[int]] = {}
    for row in inputs:
        contents.setdefault(int(row.sum()), []).append(int(row[0]))
    majority = sum(max(sum(lit), len(lit) - sum(lit)) for lit in contents.values())
    hold(best == majority < 64, f"{best} and {majority}")
    for length in range(1, 20):
        multisets = sum(1 for _ in combinations_with_replacement((0, 1), length))
        hold(multisets == length + 1, f"{multisets} multisets of {length}")
    return {
        "counting, invariant": f"{counted} of 64",
        "counting, plain": f"{plain} of 64",
        "one lamp, invariant": f"{best} of 64",
        "contents of 196 bits": f"{196 + 1} of 2^196",
    }


def _cue() -> Evidence:
    """64 pictures from counts; right signs in training and with the cue reversed."""

    def pictures(cue_right: int) -> tuple[Any, Any]:
        kinds = product((1, -1), ((1, 3), (-1, 1)), ((1, cue_right), (-1, 8 - cue_right)))
        rows = [(y * s, y * c, y) for y, (s, n), (c, m) in kinds for _ in range(n * m)]
        table = np.array(rows)
        return table[:, :2], table[:, 2]

    weights = least_squares(*pictures(7))
    right = [int(((x @ weights > 0) == (y > 0)).sum()) for x, y in (pictures(7), pictures(1))]
    hold(weights.tolist() == [Fraction(14, 55), Fraction(36, 55)], f"weights {weights}")
    hold(right == [56, 8], f"right {right}")
    flips = np.array([[[1, 0], [0, 1]], [[1, 0], [0, -1]]])
    cured = least_squares(*augmented(*pictures(7), flips))
    hold(cured.tolist() == [Fraction(1, 2), 0], f"weights {cured}")
    return {
        "weights of shape and cue": fmt(weights),
        "right in training": f"{right[0]} of 64",
        "with the cue reversed": f"{right[1]} of 64",
        "weights with the cue flipped at random": fmt(cured),
    }


def _three_questions() -> Evidence:
    """One blur: in three classes, returned by one learner, at three costs."""
    labels = INPUTS @ LIGHT.T
    for weights in (
        least_squares(INPUTS, labels),
        gradient_descent_limit(INPUTS, labels, TURNS[0]),
    ):
        hold(not (INPUTS @ weights.T - labels).any(), "fits the readings")
        hold((weights != LIGHT).any(), "prefers another matrix")
    bands = constrained_least_squares(INPUTS, labels, BANDS)
    hold((bands == LIGHT).all(), "three bands return the blur")
    steps = abs(np.subtract.outer(np.arange(6), np.arange(6)))
    sharp = exact_softmax(-20 * np.minimum(steps, 6 - steps) ** 2)
    heads = constrained_least_squares(INPUTS, labels, BANDS @ sharp)
    gap = abs(heads - LIGHT).max()
    hold(0 < gap < Fraction(1, 10**5), f"three sharp heads return it nearly: {float(gap)}")
    stored = [LIGHT.size, int(np.count_nonzero(LIGHT)), int(3 * LIGHT.size)]
    hold(stored == [36, 18, 108], f"factors {stored}")
    return {
        "returned by": "three bands, not by a free matrix",
        "distance, three sharp heads": fmt(float(gap), 3),
        "macs of matrix, bands, heads": fmt(stored),
    }


def _full_orbit() -> Evidence:
    """Rings of 3 to 5 places with flips: augmented, on orbit means and inside the commutant, in fractions."""
    rng = np.random.default_rng(113)
    checks = 0
    for size in range(3, 6):
        turns = [np.roll(np.eye(size, dtype=int), turn, axis=0) for turn in range(size)]
        group = np.array([*turns, *(turn[::-1] for turn in turns)])
        inputs, labels = rng.integers(-3, 4, (2, 2, size))
        means = orbit_average(inputs, group)
        seen = augmented(inputs, labels[:, 0], group)
        strength = Fraction(1, 5)
        for trained, averaged in (
            (least_squares(*seen), least_squares(means, labels[:, 0])),
            (ridge(*seen, strength), ridge(means, labels[:, 0], strength)),
        ):
            hold((trained == averaged).all() and len(set(trained)) == 1, f"ring of {size}")
            checks += 1
        basis = np.array([turns[k] + turns[-k] for k in range(size // 2 + 1)])
        inside = constrained_least_squares(inputs, labels, basis)
        trained = least_squares(*augmented(inputs, labels, group, group))
        hold((trained == inside).all(), f"commutant of a ring of {size}")
        twirl = orbit_average(least_squares(inputs, labels), group, group)
        hold((twirl != trained).any(), "the twirl is another matrix")
        checks += 1
    return {"rings": "3 to 5 places, turns and flips", "equalities in fractions": fmt(checks)}


def _span() -> Evidence:
    """Exact descent: nothing moves across the span, and the limit solves the normal equations."""
    rng = np.random.default_rng(114)
    inputs, labels = np.array([[1, 2, 0, 1], [0, 1, 1, -1]]), rng.integers(-3, 4, (2, 3))
    across = np.array([[2, -1, 1, 0], [3, -1, 0, -1]]).T
    start = rng.integers(-2, 3, (3, 4))
    hold(not (inputs @ across).any(), "orthogonal to the inputs")
    rate: Any = Fraction(1, 5)
    once = start - rate * (inputs @ start.T - labels).T @ inputs
    for steps, expected in enumerate((start, once)):
        found = gradient_descent(inputs, labels, start, rate, steps)
        hold((found == expected).all(), f"after {steps} steps")
    limit = gradient_descent_limit(inputs, labels, start)
    gaps = []
    for steps in (0, 5, 10):
        weights = gradient_descent(inputs, labels, start, rate, steps)
        hold((weights @ across == start @ across).all(), f"moved across after {steps} steps")
        gaps.append(abs(weights - limit).max())
    hold(gaps[0] > gaps[1] > gaps[2] and gaps[2] < gaps[0] / 100, f"gaps {gaps}")
    hold((limit @ across == start @ across).all(), "limit moved across")
    hold((inputs @ limit.T == labels).all(), "limit fits")
    return {"moved across the span": "0", "gap after 10 steps": fmt(float(gaps[2]), 3)}


def _rotation() -> Evidence:
    """One-step predictions under all 384 signed permutations of four coordinates, and under two rotations."""
    rng = np.random.default_rng(118)
    inputs, new = rng.integers(-3, 4, (2, 5, 4)).astype(object)
    labels, first = rng.integers(-3, 4, 5), rng.integers(-2, 3, 4).astype(object)

    def seen(rows: Any, centred: bool) -> Any:
        return rows - rows.sum(axis=1, keepdims=True) * Fraction(1, 4) if centred else rows

    def change(matrix: Any, adaptive: bool, centred: bool = False) -> Any:
        answers = []
        for turn in (np.eye(4, dtype=int), matrix):
            x, weights = seen(inputs @ turn.T, centred), first @ turn.T
            gradient = (x @ weights - labels) @ x
            step = np.sign(gradient) if adaptive else gradient
            answers.append(seen(new @ turn.T, centred) @ (weights - Fraction(1, 50) * step))
        return abs(answers[1] - answers[0]).max()

    signed = [
        np.eye(4, dtype=int)[list(order)] * np.array(signs)
        for order in permutations(range(4))
        for signs in product([1, -1], repeat=4)
    ]
    quarter = np.eye(4, dtype=object)
    quarter[:2, :2] = np.array([[3, -4], [4, 3]]) * Fraction(1, 5)
    mixing = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    rotations = [quarter, mixing * Fraction(1, 2)]
    hold(not any(change(m, False) for m in signed + rotations), "gradient descent")
    hold(not any(change(m, True) for m in signed), "signs under signed permutations")
    moved = [change(m, True) for m in rotations]
    hold(all(moved), f"signs under rotations {moved}")
    shown = [change(m, False, centred=True) for m in (quarter, signed[5])]
    hold(all(shown) and not change(abs(signed[5]), False, centred=True), f"mean off {shown}")
    return {
        "gradient descent, 386 matrices": "0",
        "Adam's first step, 384 signed permutations": "0",
        "Adam's first step, two rotations": fmt(moved),
    }


def _heads() -> Evidence:
    """Heads with base-2 scores on a 5 x 5 torus against a 3 x 3 convolution, error against bound."""
    rng = np.random.default_rng(122)
    side, places = 5, np.array(list(np.ndindex(5, 5)))
    picture = rng.integers(-4, 5, 25).astype(object)
    kernel = {offset: int(rng.integers(-3, 4)) for offset in product((-1, 0, 1), repeat=2)}
    size = sum(map(abs, kernel.values())) * abs(picture).max()

    def squared(offset: tuple[int, ...]) -> Any:
        steps = (places[None] - places[:, None] - offset) % side
        return (np.minimum(steps, side - steps) ** 2).sum(axis=2)

    convolution: Any = sum(
        tap * picture[(squared(offset) == 0).argmax(axis=1)] for offset, tap in kernel.items()
    )
    errors = []
    for strength in (1, 3, 10):
        heads: Any = sum(
            tap * (exact_softmax(-strength * squared(offset)) @ picture)
            for offset, tap in kernel.items()
        )
        stray = sum(Fraction(1, 2 ** (strength * int(d))) for d in squared((0, 0))[0] if d)
        error = abs(heads - convolution).max()
        hold(0 < error <= 2 * stray / (1 + stray) * size, f"error {float(error)}")
        errors.append(float(error))
    hold(errors[0] > errors[1] > errors[2], f"errors {errors}")
    return {"largest error at base-2 sharpness 1, 3, 10": fmt(errors, 3)}


_record = partial(Claim, chapter="01_pipeline_bias", tier="exact")

CLAIMS = (
    _record(
        id="R1.1",
        statement="Five learners that differ in one place each give one input five different answers.",
        place="data",
        assumptions=("one data set", "linear learners in closed form"),
        fails_when="the unseen input lies where the data already decide the answer",
        evidence=_five_answers,
    ),
    _record(
        id="R1.2",
        statement="A fixed grid of patches has already chosen which shifts only relabel its tokens.",
        place="patch projection",
        assumptions=("the picture wraps round", "patches do not overlap"),
        fails_when="a picture repeats itself: then other shifts can also permute its patches",
        evidence=_grid,
    ),
    _record(
        id="R1.3",
        statement="Augmentation adds a preference to a learner that nothing in its form restricts.",
        place="data",
        assumptions=("all turns of the ring", "least squares of least norm"),
        fails_when="a part of the orbit is left out",
        evidence=_free_but_symmetric,
    ),
    _record(
        id="R1.4",
        statement="A student takes over its teacher's symmetry on the inputs that it was shown.",
        place="teacher",
        assumptions=("linear, started at zero", "the span shown has the symmetry"),
        fails_when="the span shown does not have the symmetry and the teacher is one-to-one",
        evidence=_student,
    ),
    _record(
        id="R1.5",
        statement="One constraint makes counting easy to learn and telling arrangements impossible.",
        place="connectivity",
        assumptions=("invariant to all arrangements",),
        fails_when="the learner may look at one fixed place",
        evidence=_both_ways,
    ),
    _record(
        id="R1.6",
        statement="A preference that comes from data takes over a cue that is false elsewhere.",
        place="data",
        assumptions=("the cue is more reliable than the shape in training", "least squares"),
        fails_when="the cue is flipped at random in training",
        evidence=_cue,
    ),
    _record(
        id="R1.7",
        statement="What can be represented, what is preferred and what it costs are three questions.",
        place="connectivity",
        assumptions=("one blur on a ring", "two correct readings"),
        fails_when="the data decide everything: then learners that can represent it agree",
        evidence=_three_questions,
    ),
    _record(
        id="T13",
        statement="Training on full orbits equals training on orbit means; no weights are averaged.",
        place="data",
        assumptions=("finite group of orthogonal matrices", "convex loss", "mean over the images"),
        fails_when="the orbit is partial, the action not orthogonal, or the loss summed over images",
        evidence=_full_orbit,
    ),
    _record(
        id="T14",
        statement="Gradient descent keeps the start's weights in directions that no input has.",
        place="optimiser",
        assumptions=("first layer", "gradient descent or momentum", "no weight decay"),
        fails_when="steps are adaptive, weights decay, or the inputs span everything",
        evidence=_span,
    ),
    _record(
        id="T18",
        statement="Gradient descent cannot see a rotation of the patch; Adam knows the axes.",
        place="optimiser",
        assumptions=("dense first layer", "orthogonal change", "the start turns along"),
        fails_when="the patch is normalised before the layer: already its mean taken off is enough",
        evidence=_rotation,
    ),
    _record(
        id="T22",
        statement="Attention heads with relative scores represent a convolution in the limit.",
        place="connectivity",
        assumptions=("ring or torus", "one head for each tap", "heads wide enough for its matrix"),
        fails_when="heads are too narrow, or a flat border has to be padded with zeros",
        evidence=_heads,
    ),
)
