"""Released code run again: it computes what was recorded, and at a real size what the library computes."""

import csv
import re
import sys
from importlib.metadata import distributions, version
from pathlib import Path

import numpy as np
import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

sys.path.insert(0, str(Path(__file__).parent))
from record import RECORDED
from record_counts import COUNTS, counted
from released import CASES as RELEASED
from released import create_model, run

from vitbias.claims.chapter02_recorded import CASES, LIMIT, Case, differences
from vitbias.counts import macs, params
from vitbias.readers.catalogue import published
from vitbias.readers.timm_weights import timm_weights
from vitbias.recordings import recorded, recording_names
from vitbias.vit import forward

LOCK = Path(__file__).parents[2] / "requirements-models.lock"
# resized tables that torch computes in float32
SINGLE = re.compile("__(timm|hfdinov2reg)")


def test_every_recording_can_be_made_again():
    assert set(RECORDED) <= set(recording_names())
    assert set(RELEASED) == set(CASES)


@pytest.mark.parametrize("name", RECORDED)
def test_run_again_it_computes_what_was_recorded(name):
    make, packages, how = RECORDED[name]
    recording, live = recorded(name), make()
    assert recording.how == how
    assert set(recording.versions) == set(packages)
    assert set(live) == set(recording.arrays)
    for key, array in live.items():
        stored = recording.arrays[key]
        assert (array.shape, array.dtype) == (stored.shape, stored.dtype), key
        limit = 2e-6 if SINGLE.search(key) else LIMIT
        assert abs(array.astype(float) - stored).max() <= limit, key


@pytest.mark.parametrize(
    ("released", "ours"),
    [
        ("deit_tiny_patch16_224", "DeiT-Ti"),
        ("deit_tiny_distilled_patch16_224", "DeiT-Ti distilled"),
    ],
)
def test_at_a_real_size(released, ours):
    """Twelve blocks of 197 or 198 tokens; the epsilon is timm's."""
    model = published(ours)
    arrays = run(create_model(released, pretrained=False), 139, count=1)
    found = differences(Case(model, timm_weights), arrays)
    assert len(found) == 2 + 7 * 12 + 3
    assert {stage: value for stage, value in found.items() if not value <= 1e-9} == {}


def test_a_released_state_is_read_as_tensors():
    """The reader takes a ``state_dict()`` as it is; float32 as in a release."""
    torch.manual_seed(149)
    network = create_model("deit_tiny_patch16_224", pretrained=False).eval()
    picture = np.random.default_rng(151).normal(size=(224, 224, 3)).astype(np.float32)
    model = published("DeiT-Ti")
    logits, _ = forward(picture, timm_weights(network.state_dict(), model), model)
    with torch.no_grad():
        theirs = network(torch.from_numpy(picture.transpose(2, 0, 1)[None].copy()))[0].numpy()
    assert abs(logits - theirs).max() <= 1e-4 * abs(theirs).max()


def test_what_runs_is_what_is_locked():
    """torch by its version alone: its build for a CPU has a digest that no lock knows."""
    lines = LOCK.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    locked = {}
    for line in lines:
        requirement = Requirement(line.split(" --hash=")[0])
        if not requirement.marker or requirement.marker.evaluate():
            locked[canonicalize_name(requirement.name)] = str(requirement.specifier).lstrip("=")
    installed = {canonicalize_name(found.name): found.version for found in distributions()}
    assert installed.pop("torch").split("+")[0] == locked.pop("torch")
    cpu = version("torch").endswith("+cpu")
    cuda = ("nvidia-", "cuda-", "triton")
    expected = {
        name: number for name, number in locked.items() if not (cpu and name.startswith(cuda))
    }
    assert {name: installed.get(name) for name in expected} == expected
    assert not [name for name in installed if name.startswith(cuda) and name not in expected]


@pytest.mark.parametrize(
    "name",
    [
        *("timm:vit_tiny_patch16_224", "timm:deit_small_distilled_patch16_224"),
        *("timm:swin_tiny_patch4_window7_224", "timm:swinv2_tiny_window8_256"),
        *("timm:beit_base_patch16_224", "timm:cait_xxs24_224", "timm:vit_base_patch16_siglip_224"),
        *("torchvision:vit_b_16", "torchvision:swin_t"),
    ],
)
def test_counted_again_it_is_what_was_recorded(name):
    """Parameters and macs by torch, of families that differ in what they hold; and the library's own."""
    lines = COUNTS.read_text(encoding="utf-8").splitlines()[1:]
    recorded_counts = {row["name"]: row for row in csv.DictReader(lines)}
    found, model = counted(name), published(name)
    assert found == tuple(int(recorded_counts[name][field]) for field in ("params", "macs"))
    assert found == (params(model).total, macs(model).total)
