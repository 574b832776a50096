"""The NumPy transformer against released code, stage by stage, from the recordings; no torch needed."""

import re

import numpy as np
import pytest

from vitbias.claims import chapter02_recorded
from vitbias.claims.chapter02_recorded import CASES, LIMIT, differences
from vitbias.errors import ValuesError
from vitbias.recordings import recorded, recording_names
from vitbias.vit import forward


def state(arrays):
    return {
        key.removeprefix("state "): value
        for key, value in arrays.items()
        if key.startswith("state ")
    }


def test_every_recorded_pass_is_compared():
    assert set(CASES) == {name for name in recording_names() if name.startswith("forward ")}


@pytest.mark.parametrize("name", CASES)
def test_every_stage_is_the_recorded_one(name):
    case, recording = CASES[name], recorded(name)
    assert {"torch", "numpy"} < set(recording.versions)
    found = differences(case, recording.arrays)
    blocks = 6 if case.fused else 7
    last = 3  # norm or mean, read-out, logits
    assert len(found) == 2 + blocks * case.model.depth + last
    assert {stage: value for stage, value in found.items() if not value <= LIMIT} == {}
    assert recording.arrays["logits"].dtype == np.float64


@pytest.mark.parametrize("name", CASES)
def test_the_recorded_numbers_are_no_trifle(name):
    """Every weight and every stage has a size at which a mistake would show."""
    for key, array in recorded(name).arrays.items():
        assert np.isfinite(array).all()
        assert abs(array).max() > 1e-2, key


@pytest.mark.parametrize("name", CASES)
def test_each_weight_that_is_spoilt_shows_in_the_logits(name):
    """But for the biases of the keys, which softmax cancels."""
    case, arrays = CASES[name], dict(recorded(name).arrays)
    rng = np.random.default_rng(3)
    for key in [key for key in arrays if key.startswith("state ")]:
        noise = rng.normal(size=arrays[key].shape)
        found = differences(case, arrays | {key: arrays[key] + 0.1 * noise})
        idle = key.endswith("k_proj.bias")
        assert (found["logits"] <= LIMIT) == idle, key


@pytest.mark.parametrize("name", CASES)
def test_another_epsilon_or_place_of_the_norm_is_noticed(name):
    case, arrays = CASES[name], recorded(name).arrays
    weights = case.read(state(arrays), case.model)
    settings = [(2 * case.epsilon, case.norm_after_mean)]
    if case.model.read_out == "mean":
        settings.append((case.epsilon, not case.norm_after_mean))
    for epsilon, after in settings:
        logits, _ = forward(
            arrays["pictures"], weights, case.model, epsilon=epsilon, norm_after_mean=after
        )
        assert abs(logits - arrays["logits"]).max() > 1e-8


def test_stages_of_another_name_are_noticed():
    name = "forward timm class"
    arrays = dict(recorded(name).arrays)
    for changed in (
        {key: value for key, value in arrays.items() if key != "trace norm"},
        arrays | {"trace other": arrays["trace norm"]},
    ):
        with pytest.raises(AssertionError, match="the recording has our stages"):
            differences(CASES[name], changed)


def test_the_claim_fails_with_the_pass(monkeypatch):
    (claim,) = chapter02_recorded.CLAIMS
    assert claim.evidence()["released models"] == str(len(CASES))

    def scaled(*arguments, **settings):
        logits, trace = forward(*arguments, **settings)
        return logits * (1 + 1e-6), trace

    monkeypatch.setattr(chapter02_recorded, "forward", scaled)
    with pytest.raises(AssertionError, match="every stage is the recorded one"):
        claim.evidence()


def test_recordings_are_read_only_and_hold_numbers():
    recording = recorded("forward timm class")
    with pytest.raises(TypeError):
        recording.arrays["logits"] = 1
    with pytest.raises(ValueError, match="read-only"):
        recording.arrays["logits"][0, 0] = 1
    assert all(re.fullmatch(r"\d+(\.\d+)+", text) for text in recording.versions.values())
    with pytest.raises(ValuesError, match="state: expected no entry but the model's"):
        case = CASES["forward timm class"]
        case.read(state(recording.arrays) | {"x": np.zeros(3)}, case.model)
