"""Ids stand once on a page and are the same in every build."""

from uuid import uuid4

import pytest
from docutils import nodes
from docutils.utils import new_document

from press.blocks import mend


@pytest.fixture
def document():
    return new_document("page")


def ids(document):
    return [name for node in document.findall(nodes.Element) for name in node.get("ids", [])]


def test_ids_that_every_block_repeats_are_dropped(document):
    for _ in range(2):
        document += nodes.section("", nodes.paragraph(), ids=["proof-content"])
        document += nodes.section("", nodes.paragraph(), ids=["exercise-content"])
        document += nodes.section("", nodes.paragraph(), ids=["solution-content"])
        document += nodes.admonition("", nodes.paragraph(), ids=["proof"], classes=["proof"])
    mend(document)
    assert ids(document) == []


def test_a_section_with_such_a_title_keeps_its_id(document):
    document += nodes.section("", nodes.title("", "Proof"), ids=["proof"])
    mend(document)
    assert ids(document) == ["proof"]


def test_random_ids_are_numbered_in_the_order_of_the_page(document):
    first, second = (f"equation-{uuid4()}" for _ in range(2))
    document += nodes.target("", "", refid=first)
    document += nodes.math_block("", "a", ids=[first])
    document += nodes.math_block("", "b", ids=[second])
    document += nodes.math_block("", "c", ids=["equation-eq-rank"])
    mend(document)
    assert document[0]["refid"] == "equation-unlabelled-1"
    assert ids(document) == ["equation-unlabelled-1", "equation-unlabelled-2", "equation-eq-rank"]


def test_the_word_proof_becomes_a_title(document):
    document += nodes.admonition("", nodes.paragraph("", "Proof. By counting."), classes=["proof"])
    document += nodes.admonition("", nodes.paragraph("", "Proof. A remark."), classes=["note"])
    mend(document)
    title, rest = document[0][0].children
    assert (title.astext(), title["classes"], rest.astext()) == (
        "Proof.",
        ["run-in"],
        " By counting.",
    )
    assert len(document[1][0].children) == 1
