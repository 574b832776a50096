"""What tools report, number by number; and that no convention explains a number by luck."""

from dataclasses import replace

import pytest

from vitbias.architecture import plain_vit
from vitbias.conventions import work
from vitbias.errors import UnknownNameError, ValuesError
from vitbias.readers.catalogue import published
from vitbias.recordings.counters import COUNTERS, Reading, convention_of, expected, readings

READINGS = {(r.release, r.counter): r for r in readings()}


@pytest.mark.parametrize("key", READINGS, ids=" ".join)
def test_every_reading_to_the_last_digit(key: tuple[str, str]) -> None:
    reading = READINGS[key]
    assert expected(reading.counter, reading.architecture) == reading.count


def test_the_table_has_no_cell_twice_and_every_counter() -> None:
    assert len(READINGS) == len(readings()) == 334
    assert {r.counter for r in readings()} == set(COUNTERS)
    assert {r.torch for r in readings()} == {"2.13.0", "2.14.1"}


@pytest.mark.parametrize(
    "part", ["pooled_norm", "gated_mlp", "key_bias", "patch_norm", "embedding_norm", "post_norm"]
)
def test_a_wrong_description_is_noticed(part: str) -> None:
    """With one part of a release turned over, some of its numbers no longer come out."""
    missed = 0
    for reading in readings():
        model = reading.architecture
        if reading.counter == "torchinfo" or model.class_blocks:
            continue
        try:
            other = replace(model, **{part: not getattr(model, part)})
        except ValuesError:
            continue
        missed += expected(reading.counter, other) != reading.count
    assert missed > 3


def test_settings_of_one_tool_differ_by_what_they_lose() -> None:
    model = published("timm:vit_base_patch16_224")
    done = work(model)
    assert expected("torch", model) - expected("torch, CPU", model) == 2 * done.products
    assert expected("ptflops pytorch", model) - expected("ptflops pytorch, CPU", model) == (
        done.queries + done.outputs + done.mlp + done.read_out
    )
    other = published("torchvision:vit_b_16")
    assert expected("torch, gradients, CPU", other) - expected("torch, CPU", other) == 2 * (
        done.queries + done.outputs
    )


def test_what_no_tool_was_recorded_for() -> None:
    with pytest.raises(ValuesError, match="a release of timm, torchvision or transformers"):
        expected("torch", published("ViT-B/16"))
    with pytest.raises(ValuesError, match="a release of timm, torchvision or transformers"):
        expected("torchinfo", plain_vit(15, 5, 14, 3, 7, 11))
    with pytest.raises(UnknownNameError, match="counter"):
        expected("deepspeed", published("timm:vit_base_patch16_224"))
    with pytest.raises(ValuesError, match="one that counts operations"):
        convention_of("torchinfo", published("timm:vit_base_patch16_224"))
    assert Reading("transformers:Swin-T", "fvcore", 5, "2.14.1").architecture.patches == 3136
