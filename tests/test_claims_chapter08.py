"""The evidence of chapter 8 notices when what it claims is broken."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from vitbias.automorphisms import Automorphisms
from vitbias.claims import chapter08, verify
from vitbias.positions import relative_index
from vitbias.resizing import resize_operator


def refuted(*claim_ids: str) -> None:
    for claim_id in claim_ids:
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_a_bias_that_knows_the_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_key(rows: int, columns: int, *, torus: bool = False) -> Any:
        index = relative_index(rows, columns, torus=torus)
        return index * (1 + np.arange(len(index)))

    monkeypatch.setattr(chapter08, "relative_index", by_key)
    refuted("R8.2", "T10")


def test_a_grid_that_always_wraps_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrapped(table: Any, rows: int, columns: int, *, torus: bool = False) -> Any:
        return table[relative_index(rows, columns, torus=True)].transpose(2, 0, 1)

    monkeypatch.setattr(chapter08, "relative_bias", wrapped)
    refuted("R8.3")


def test_a_group_one_too_large_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(matrix: Any) -> Automorphisms:
        return Automorphisms(2 * len(matrix), ())

    monkeypatch.setattr(chapter08, "automorphisms", twice)
    refuted("T10")


def test_an_operator_of_lower_rank_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def constant(old: int, new: int, method: str) -> Any:
        return np.full((new, old), Fraction(1, old), dtype=object)

    monkeypatch.setattr(chapter08, "resize_operator", constant)
    refuted("R8.5", "T11")


def test_one_operator_for_all_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(table: Any, old: int, new: int, method: str) -> Any:
        operator = resize_operator(old, new, "half-pixel linear")
        return np.kron(operator, operator) @ table

    monkeypatch.setattr(chapter08, "resize_table", same)
    refuted("R8.4")


def test_positions_that_are_lost_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter08, "RECORDED_POSITIONS", np.zeros((3, 2)))
    refuted("R8.8")


def test_attention_without_its_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter08, "exact_attention", lambda q, k, v: v * Fraction(0))
    refuted("R8.1", "R8.7")


def test_patches_that_do_not_cut_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(pictures: Any, patch: int) -> Any:
        return pictures.reshape(-1, patch**2 * pictures.shape[-1])

    monkeypatch.setattr(chapter08, "patchify", rows)
    refuted("T7", "R8.6")
