"""The evidence for collisions and counts notices a broken library."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from vitbias.claims import chapter05, chapter05_finite, verify


def _off_by_one(value: Any) -> Any:
    return value + 1


BROKEN: list[tuple[ModuleType, str, str, Callable[[Any], Any]]] = [
    (chapter05, "R5.1", "raw_dim", _off_by_one),
    (chapter05, "R5.2", "exact_rank", lambda r: replace(r, nullity=r.nullity - 1)),
    (chapter05, "R5.3", "null_vectors", lambda basis: basis[:0]),
    (chapter05, "R5.4", "collide", lambda pairs: replace(pairs, second=pairs.second + 1)),
    (chapter05, "R5.5", "min_nullity", _off_by_one),
    (chapter05, "R5.6", "min_nullity", _off_by_one),
    (chapter05, "R5.9", "exact_rank", lambda r: replace(r, nullity=r.nullity - 1)),
    (chapter05, "RE.2", "collision", lambda pair: replace(pair, second=pair.first)),
    (chapter05_finite, "T3", "float_values", _off_by_one),
    (chapter05_finite, "T3", "siegel_bound", lambda bound: bound // 2),
    (chapter05_finite, "T3", "entropy_bound", lambda count: replace(count, guaranteed=True)),
    (chapter05_finite, "V5.3", "kernel_lattice", lambda basis: 2 * basis),
    (chapter05_finite, "V5.4", "fold_normalisation", lambda pair: (pair[0], pair[1] + 1)),
    (chapter05_finite, "V5.5", "rational_twins", lambda t: replace(t, second=t.second + 1)),
]


@pytest.mark.parametrize(("module", "claim", "name", "change"), BROKEN)
def test_a_broken_function_is_noticed(
    module: ModuleType,
    claim: str,
    name: str,
    change: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: change(function(*a, **k)))
    with pytest.raises(AssertionError):
        verify(claim)


def test_antipodes_that_are_none_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter05_finite, "_smallest_gap", lambda *_: 1e-3)
    with pytest.raises(AssertionError):
        verify("T2")
