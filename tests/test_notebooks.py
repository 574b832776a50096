"""The guards, applied to every notebook of the book."""

from pathlib import Path

import pytest

from press.figure_files import file_violations
from press.freshness import notebook_paths, stale
from press.guards import clashes, violations
from press.normal_form import dump, load

ROOT = Path(__file__).resolve().parents[1]
PATHS = notebook_paths(ROOT)


def test_there_are_notebooks():
    assert PATHS


@pytest.mark.parametrize("name", PATHS)
def test_a_notebook_breaks_no_rule(name):
    assert violations(load(PATHS[name]), name) == []


@pytest.mark.parametrize("name", PATHS)
def test_the_file_is_the_normal_form_byte_by_byte(name):
    assert dump(load(PATHS[name])) == PATHS[name].read_bytes().decode()


def test_figures_on_disk_are_those_of_the_outputs_and_no_others():
    notebooks = {name: load(path) for name, path in PATHS.items()}
    assert file_violations(notebooks, ROOT / "notebooks/figures") == []
    assert clashes(notebooks) == []


def test_outputs_are_those_of_the_code_and_the_library():
    assert stale(ROOT) == []
