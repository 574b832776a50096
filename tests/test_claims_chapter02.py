"""The claims of chapter 2 fail when what they claim is broken."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from vitbias.claims import chapter02, chapter02_flattening, chapter02_sources, verify


def test_a_bypass_from_pixels_is_noticed(monkeypatch):
    def leaky(picture, weights, model):
        logits, trace = chapter02_forward(picture, weights, model)
        return logits + picture.max(), trace

    chapter02_forward = chapter02.forward
    monkeypatch.setattr(chapter02, "forward", leaky)
    for claim_id in ("R2.1", "R2.4"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_another_order_of_tokens_is_noticed(monkeypatch):
    def class_token_last(picture, weights, model):
        logits, trace = chapter02_forward(picture, weights, model)
        return logits, {**trace, "tokens": np.roll(trace["tokens"], -1, axis=-2)}

    chapter02_forward = chapter02.forward
    monkeypatch.setattr(chapter02, "forward", class_token_last)
    with pytest.raises(AssertionError, match="equation 1"):
        verify("R2.1")


def test_a_number_copied_wrongly_is_noticed(monkeypatch):
    monkeypatch.setitem(chapter02.ACCURACY, "ViT-L/16 JFT", "85.76")
    with pytest.raises(AssertionError, match="ViT-L/16 JFT against BiT-L"):
        verify("R2.2")
    monkeypatch.setitem(chapter02.PRE_TRAINING["ImageNet"], "ViT-L/16", "79.53")
    with pytest.raises(AssertionError):
        verify("R2.3")
    monkeypatch.undo()
    monkeypatch.setitem(chapter02.SEVEN_EPOCHS, "ViT-L/16", "87.12")
    with pytest.raises(AssertionError, match="after 7 epochs"):
        verify("R2.3")
    monkeypatch.setitem(chapter02.ACCURACY, "Noisy Student", "84.4")
    with pytest.raises(AssertionError, match="order"):
        verify("R2.2")


def test_another_width_is_noticed(monkeypatch):
    def wider(name):
        model = published(name)
        stage = replace(model.stages[0], width=2 * model.width)
        return replace(model, stages=(stage,)) if name.startswith("ViT") else model

    published = chapter02.published
    monkeypatch.setattr(chapter02, "min_nullity", lambda raw, width: max(1, raw - width))
    with pytest.raises(AssertionError, match="ViT-B/8"):
        verify("R2.5")
    monkeypatch.undo()
    monkeypatch.setattr(chapter02, "published", wider)
    with pytest.raises(AssertionError, match="must lose directions"):
        verify("R2.5")


def test_the_information_of_small_tables():
    """2^(n·I): independent coordinates give 1, equal ones the product of n / count."""
    independent = [(a, b) for a in range(2) for b in range(3)]
    assert chapter02._information(independent) == 1
    assert chapter02._information([(0, 0), (0, 0), (1, 1)]) == Fraction(3, 2) ** 2 * 3


def test_a_cut_that_is_a_reshape_is_noticed(monkeypatch):
    def strips(picture, patch):
        return picture.reshape(-1, patch * patch * picture.shape[-1])

    monkeypatch.setattr(chapter02_flattening, "patchify", strips)
    with pytest.raises(AssertionError, match="the cut"):
        verify("V2.2")


def test_a_null_vector_that_is_none_is_noticed(monkeypatch):
    monkeypatch.setattr(chapter02_flattening, "null_vectors", lambda weight: np.ones((1, 4), int))
    with pytest.raises(AssertionError, match="rows"):
        verify("T4")


def test_another_first_layer_is_noticed(monkeypatch):
    monkeypatch.setattr(chapter02_sources, "raw_dim", lambda patch, channels: patch * channels)
    with pytest.raises(AssertionError, match="Swin reads 48 values"):
        verify("V2.3")
    monkeypatch.setitem(chapter02_sources.BEFORE, "Cordonnier et al. 2020", "attention on pixels")
    with pytest.raises(AssertionError, match="patches came before"):
        verify("V2.4")
    monkeypatch.setitem(chapter02_sources.LEARNING_RATES, "mean", ("8e-4", "8e-4"))
    with pytest.raises(AssertionError, match="factor 1"):
        verify("V2.5")


def test_a_kernel_that_reads_another_place_is_noticed(monkeypatch):
    def turned(weight, height, width, stride):
        return stem_matrix(weight[:, ::-1], height, width, stride)

    stem_matrix = chapter02_sources.stem_matrix
    monkeypatch.setattr(chapter02_sources, "stem_matrix", turned)
    with pytest.raises(AssertionError, match="kernel of 4 px"):
        verify("V2.3")
