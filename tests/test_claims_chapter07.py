"""The evidence of chapter 7 about whole blocks, masks, gauges and training notices what breaks it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vitbias.attention import multi_head
from vitbias.automorphisms import automorphisms, interchangeable
from vitbias.claims import chapter07, chapter07_symmetry, verify
from vitbias.exact_attention import exact_attention
from vitbias.gauge import change_gauge, identifiable
from vitbias.orbits import multisets
from vitbias.patches import patchify


def refuted(*claim_ids: str) -> None:
    for claim_id in claim_ids:
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_attention_that_favours_the_first_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(query: Any, key: Any, value: Any, **options: Any) -> Any:
        return exact_attention(query, key, value, **options) + value[0]

    monkeypatch.setattr(chapter07_symmetry, "exact_attention", first)
    refuted("T8", "V7.1")


def test_a_block_that_knows_the_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def placed(tokens: Any, *rest: Any, **options: Any) -> Any:
        output, shares = multi_head(tokens, *rest, **options)
        return output + np.arange(len(output))[:, None], shares

    monkeypatch.setattr(chapter07_symmetry, "multi_head", placed)
    refuted("T8")


def test_a_group_without_its_last_generator_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fewer(*matrices: Any) -> Any:
        group = automorphisms(*matrices)
        return replace(group, order=group.order // 2 or 1, generators=group.generators[:-1])

    monkeypatch.setattr(chapter07_symmetry, "automorphisms", fewer)
    refuted("V7.1", "V7.2")


def test_cells_of_one_layer_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        chapter07_symmetry, "interchangeable", lambda first, *_: interchangeable(first)
    )
    refuted("V7.2")


def test_sequences_in_place_of_multisets_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter07_symmetry, "multisets", lambda n, k: multisets(n, k) + 1)
    refuted("T29")


def test_a_gauge_without_its_inverse_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def query_only(weights: Any, heads: int, **parts: Any) -> Any:
        return replace(change_gauge(weights, heads, **parts), key=weights.key)

    monkeypatch.setattr(chapter07_symmetry, "change_gauge", query_only)
    refuted("T33")


def test_a_dimension_without_the_gauge_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        chapter07_symmetry, "identifiable", lambda m, n, r: identifiable(m, n, r) + r * r
    )
    refuted("T33")


def test_a_scramble_that_mixes_patches_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def sheared(pictures: Any, patch: int) -> Any:
        return np.roll(patchify(pictures, patch), 1, axis=-1) * np.arange(1, 13)

    monkeypatch.setattr(chapter07_symmetry, "patchify", sheared)
    refuted("T9")


def test_a_wrong_null_space_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter07, "commutation_nullity", lambda perms, points: points**2)
    refuted("T1")
