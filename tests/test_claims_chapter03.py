"""What chapter 3 claims is noticed when it breaks."""

import numpy as np
import pytest

from vitbias.claims import chapter03, verify
from vitbias.distillation import Loss, cross_entropy, hard_distillation, soft_distillation
from vitbias.learning import from_teacher


def test_a_gradient_without_its_temperature_is_noticed(monkeypatch):
    def without_tau(*arguments, temperature=1, **options):
        loss = soft_distillation(*arguments, temperature=temperature, **options)
        return Loss(loss.value, loss.gradient / temperature)

    monkeypatch.setattr(chapter03, "soft_distillation", without_tau)
    with pytest.raises(AssertionError):
        verify("T15")


def test_a_bound_that_is_undercut_is_noticed(monkeypatch):
    monkeypatch.setattr(chapter03, "hard_distillation", lambda *_, **__: Loss(0.5, np.zeros(2)))
    with pytest.raises(AssertionError, match="two classes"):
        verify("T15")


@pytest.mark.parametrize("loss", [cross_entropy, hard_distillation])
def test_half_a_gradient_is_noticed(monkeypatch, loss):
    def half(*arguments, **options):
        whole = loss(*arguments, **options)
        return Loss(whole.value, whole.gradient / 2)

    monkeypatch.setattr(chapter03, loss.__name__, half)
    with pytest.raises(AssertionError, match="differences"):
        verify("T15")


def test_a_student_that_forgets_an_example_is_noticed(monkeypatch):
    def forgetful(inputs, teacher):
        return from_teacher(inputs[: max(1, len(inputs) - 1)], teacher)

    monkeypatch.setattr(chapter03, "from_teacher", forgetful)
    for claim_id in ("R3.3", "R3.4"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_a_misquoted_table_is_noticed(monkeypatch):
    monkeypatch.setitem(chapter03.TABLE_3, "both heads", (83.3, 84.5))
    for claim_id in ("R3.1", "R3.2"):
        with pytest.raises(AssertionError):
            verify(claim_id)
