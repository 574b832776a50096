"""The chapters as one book: order, titles, links in both directions, contents and glossary."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STEMS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
CHAPTER = re.compile(r"\{doc\}`(?:[^`<]*<)?(?:\.\./notebooks/)?(\d\d_\w+)>?`")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
ENTRY = re.compile(r"^### \{doc\}`(.+?) <\.\./notebooks/(\w+)>`$", re.MULTILINE)


@cache
def markdown(stem: str) -> str:
    cells = json.loads((ROOT / f"notebooks/{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def page(name: str) -> str:
    return (ROOT / f"book/{name}.md").read_text(encoding="utf-8")


def linked(stem: str) -> set[str]:
    return set(CHAPTER.findall(markdown(stem)))


def test_there_are_twelve_in_the_order_of_the_review():
    assert [int(stem[:2]) for stem in STEMS] == list(range(1, 13))
    listed = re.findall(r"file: notebooks/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert listed == STEMS


@pytest.mark.parametrize("stem", STEMS)
def test_the_title_carries_the_number(stem):
    assert TITLE.search(markdown(stem))[1].startswith(f"{int(stem[:2])} ")


@pytest.mark.parametrize("stem", STEMS)
def test_a_link_to_another_chapter_is_answered_by_a_link_back(stem):
    others = linked(stem)
    assert others and stem not in others
    assert {other: stem in linked(other) for other in others} == dict.fromkeys(others, True)


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_keeps_the_skeleton(stem):
    text = markdown(stem)
    parts = ("We will\n", "\n## Setting", "\n## Where it breaks", "\n## Scope", "\nWe have\n")
    places = [text.find(part) for part in (*parts, "\n## Exercises")]
    assert -1 not in places and places == sorted(places), dict(zip(parts, places, strict=False))
    assert text.count("{exercise}") == text.count("{solution-start}") == 2


def test_the_contents_list_every_chapter_under_its_title_in_order():
    titles = {stem: TITLE.search(markdown(stem))[1] for stem in STEMS}
    entries = {stem: title for title, stem in ENTRY.findall(page("contents"))}
    assert list(entries) == STEMS
    assert {stem: title.replace(" · ", " ") for stem, title in entries.items()} == titles


def test_the_glossary_is_sorted_and_sends_to_every_chapter():
    text = page("glossary")
    terms = re.findall(r"^(\w[^\n]*)\n  \S", text.split(":sorted:")[1], re.MULTILINE)
    assert len(terms) > 50
    assert terms == sorted(terms, key=str.lower)
    assert set(CHAPTER.findall(text)) == set(STEMS)
