"""The evidence of chapter 8 notices when what it claims is broken."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from vitbias.automorphisms import Automorphisms
from vitbias.claims import (
    chapter08,
    chapter08_alignment,
    chapter08_resizing,
    chapter08_schemes,
    verify,
)
from vitbias.positions import relative_index, row_column_sum, sine_cosine_table
from vitbias.resizing import RELEASES, resize_operator
from vitbias.rotary import rotary_scores, torus_phases


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


def test_distances_that_forget_a_wrap_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = chapter08_schemes.distances

    def flat(rows: int, columns: int, norm: str = "Euclid", *, torus: bool = False) -> Any:
        return plain(rows, columns, norm)

    monkeypatch.setattr(chapter08_schemes, "distances", flat)
    refuted("V8.1")


def test_columns_that_change_places_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        chapter08_schemes, "grid_table", lambda grid: grid.swapaxes(0, 1).reshape(-1, grid.shape[2])
    )
    refuted("V8.2")


def test_a_product_of_rows_and_columns_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def product(by_row: Any, by_column: Any) -> Any:
        table = row_column_sum(by_row, by_column)
        return table**2

    monkeypatch.setattr(chapter08_schemes, "row_column_sum", product)
    refuted("V8.3")


def test_scores_of_unturned_keys_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(query: Any, key: Any, phases: Any) -> Any:
        still = 0 * phases
        still[..., 0] += 1
        return rotary_scores(query, key, phases) - rotary_scores(query, key, still)

    monkeypatch.setattr(chapter08_schemes, "rotary_scores", half)
    refuted("V8.4")


def test_a_border_that_wraps_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter08_schemes, "rotary_phases", torus_phases)
    refuted("V8.4")


def test_a_table_that_does_not_move_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fixed(rows: int, columns: int, width: int, *, origin: Any = (0, 0)) -> Any:
        return sine_cosine_table(rows, columns, width)

    monkeypatch.setattr(chapter08_schemes, "sine_cosine_table", fixed)
    refuted("V8.5")


def test_a_misprinted_ablation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chapter08_schemes.VIT_TABLE_8, "2-D", 0.61401)
    refuted("V8.7")


def test_a_phase_that_is_never_last_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        chapter08_alignment, "contained_share", lambda a, p, side=None: Fraction(max(0, p - a), p)
    )
    refuted("T24")


def test_a_model_that_sees_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        chapter08_alignment, "forward", lambda p, w, m: (0, {"read_out": np.zeros(3)})
    )
    refuted("V8.6")


@pytest.mark.parametrize("release", sorted(chapter08_resizing.RECORDED_CALLS))
def test_a_release_of_another_operator_is_noticed(
    release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = {"half-pixel cubic": "antialiased cubic", "antialiased cubic": "half-pixel cubic"}
    wrong = {**RELEASES, release: swap[RELEASES[release]]}
    monkeypatch.setattr(chapter08_resizing, "RELEASES", wrong)
    refuted("V8.9")


def test_a_way_back_that_is_antialiased_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def released(old: int, new: int, method: str) -> Any:
        there = resize_operator(old, new, method)
        return resize_operator(new, old, "antialiased linear") @ there

    monkeypatch.setattr(chapter08_resizing, "round_trip", released)
    refuted("V8.10")
