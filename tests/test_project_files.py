"""What the project says about itself in several places is the same in all of them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from pybtex.database import parse_file, parse_string

import vitbias
from vitbias.patches import patchify

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "book").glob("*.md"))
AUTHOR = "The vitbias contributors"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


CITATION = yaml.safe_load(read("CITATION.cff"))
CONFIG = yaml.safe_load(read("_config.yml"))
SPHINX = CONFIG["sphinx"]["config"]


def texts() -> dict[str, str]:
    """Prose of the pages and of the notebooks' Markdown cells."""
    found = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[path.name] = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    return found


@pytest.mark.parametrize(
    ("place", "versions"),
    [
        ("CITATION.cff", [CITATION["version"]]),
        ("_config.yml", [SPHINX["release"], SPHINX["version"]]),
        ("CHANGELOG.md", re.findall(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)[:1]),
        ("footer", re.findall(r"Version (\S+)\.", CONFIG["html"]["extra_footer"])),
        ("cite.md", re.findall(r"\b\d+\.\d+\.\d+\b", read("book/cite.md"))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_version_number(place, versions):
    assert set(versions) == {vitbias.__version__}, place


def test_citation_file_has_what_the_format_asks_for():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION)
    assert CITATION["type"] == "software"
    assert CITATION["license"] == "BSD-3-Clause"
    assert not {"doi", "url", "repository-code", "identifiers"} & set(CITATION), "none is real yet"


def test_one_author_and_one_title():
    assert CITATION["authors"] == [{"name": AUTHOR}]
    assert CONFIG["author"] == AUTHOR
    assert CONFIG["title"] == CITATION["title"]
    assert read("book/index.md").startswith(f"# {CITATION['title']}\n")
    assert AUTHOR in read("LICENSE")


def test_bibtex_of_the_book_equals_the_citation_file():
    block = re.search(r"```bibtex\n(.*?)```", read("book/cite.md"), re.DOTALL)[1]
    (entry,) = parse_string(block, "bibtex").entries.values()
    authors = [str(person).strip("{}") for person in entry.persons["author"]]
    assert authors == [author["name"] for author in CITATION["authors"]]
    assert entry.fields["title"] == CITATION["title"]
    assert entry.fields["version"] == CITATION["version"]
    assert CITATION["version"] in entry.fields["note"]
    assert f"Copyright (c) {entry.fields['year']}, {AUTHOR}" in read("LICENSE")


def test_readme_names_only_targets_that_exist():
    targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.MULTILINE))
    for page in ("README.md", "book/index.md", "book/introduction.md"):
        named = set(re.findall(r"(?:^|`)make ([a-z-]+)", read(page), re.MULTILINE))
        assert {"book", "test"} <= named, page
        assert named <= targets, page


def test_files_that_the_readme_links_exist():
    links = re.findall(r"\]\(([^)]+)\)", read("README.md"))
    local = [link for link in links if not link.startswith("https://")]
    assert len(local) >= 5
    for link in local:
        assert (ROOT / link).is_file(), link


def test_every_key_that_is_cited_has_an_entry():
    entries = set(parse_file(ROOT / "book/references.bib", "bibtex", encoding="utf-8").entries)
    cited = {
        key.strip(): name
        for name, text in texts().items()
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text)
        for key in keys.split(",")
    }
    assert {"review", "dosovitskiy2021"} <= set(cited)
    assert set(cited) <= entries, {key: cited[key] for key in set(cited) - entries}


def test_every_entry_is_on_the_references_page():
    directives = re.findall(r"```\{bibliography\}\n(.*?)```", read("book/references.md"), re.DOTALL)
    assert directives == [":all:\n"]


def test_notices_name_the_versions_of_the_lock():
    rows = re.findall(r"`([\w-]+)` (\d[\w.]*)", read("book/notices.md"))
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", read("requirements.lock"), re.MULTILINE))
    assert len(rows) > 10
    assert {name: version for name, version in rows if locked.get(name) != version} == {}


def test_notices_credit_the_photographs_as_recorded():
    page = read("book/notices.md")
    record = json.loads(read("vitbias/data/photographs.json"))
    assert f"scikit-learn {record['upstream']['version']}" in page
    for entry in record["photographs"].values():
        row = f"| [{entry['title']}]({entry['source']}) | [{entry['author']}]({entry['author_url']}) |"
        assert row in page
        assert f"[{entry['licence']}]({entry['licence_url']})" in page
        assert f"{entry['author']} ({entry['title']})" in read("README.md")


def test_flattening_on_the_notation_page_is_what_patchify_does():
    blocks = re.findall(
        r"\\begin\{pmatrix\}\n(.*?)\\end\{pmatrix\}", read("book/notation.md"), re.DOTALL
    )
    picture, flattened = (
        np.array([[int(value) for value in row.split("&")] for row in block.split(r"\\")])
        for block in blocks
    )
    assert np.array_equal(patchify(picture[:, :, None], 2), flattened)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_are_written_for_phones(path):
    """Tables of at most four columns, one label for each display equation."""
    text = path.read_text(encoding="utf-8")
    for rule in re.findall(r"^\|(?: *:?-+:? *\|)+$", text, re.MULTILINE):
        assert rule.count("|") <= 5, rule
    equations = re.findall(r"^\$\$(.*)$", text, re.MULTILINE)
    opened, closed = equations[::2], equations[1::2]
    assert len(opened) == len(closed)
    assert all(re.fullmatch(r" \([\w:-]+\)", label) for label in closed)
