"""What chapters 4 and 6 claim of lattices, levels, bytes and locks fails when a count is broken."""

import numpy as np
import pytest

from vitbias.claims import chapter04_curves, chapter04_lattice, chapter06_costs
from vitbias.counts import attention_bytes, params
from vitbias.windows import padded_pairs, query_pairs

MODULES = (chapter04_curves, chapter04_lattice, chapter06_costs)
EVIDENCE = {claim.id: claim.evidence for module in MODULES for claim in module.CLAIMS}


def test_every_claim_of_these_files_is_here():
    assert set(EVIDENCE) == {"V4.1", "T31", "V6.1", "V6.2"}


def without_the_table(architecture):
    found = params(architecture)
    return type(found)(**vars(found) | {"position": 0})


@pytest.mark.parametrize(
    ("module", "name", "value", "claim_id"),
    [
        (chapter04_curves, "padded_pairs", query_pairs, "V4.1"),
        (chapter04_curves, "block_macs", lambda tokens, width: tokens * width, "V4.1"),
        (chapter04_lattice, "groups", lambda g, w, s, wrap: np.zeros(g, dtype=int), "T31"),
        (chapter04_lattice, "softmax", lambda scores: np.eye(len(scores)), "T31"),
        (chapter06_costs, "attention_bytes", lambda *sizes: attention_bytes(*sizes) + 1, "V6.1"),
        (chapter06_costs, "padded_pairs", query_pairs, "V6.1"),
        (chapter06_costs, "params", without_the_table, "V6.2"),
        (chapter06_costs, "relative_table_params", lambda window, heads: window * heads, "V6.2"),
    ],
)
def test_a_broken_count_is_noticed(monkeypatch, module, name, value, claim_id):
    monkeypatch.setattr(module, name, value)
    with pytest.raises(AssertionError):
        EVIDENCE[claim_id]()


def test_a_slide_has_no_whole_number_of_windows():
    assert 100_000 // 16 % 7 != 0
    assert padded_pairs(100_000 // 16, 7) > query_pairs(100_000 // 16, 7)
