"""Which files stand behind a notebook, and what makes its outputs stale."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from press.freshness import closure, digests, notebook_paths, reasons, stale
from press.normal_form import NotebookError, dump, load, normalise

ROOT = Path(__file__).resolve().parents[1]

LIBRARY = {
    "__init__.py": "def __getattr__(name):\n    from importlib import import_module\n"
    "    return import_module(f'vitbias.{name}')\n",
    "ground.py": "SIZE = 7\n",
    "arrays.py": "from vitbias.ground import SIZE\n",
    "late.py": "def f():\n    import vitbias.arrays as a\n    return a\n",
    "pictures.py": "from importlib.resources import files\nDATA = files('vitbias') / 'data'\n",
    "hues.py": "HUES = {'data': 'blue'}\n",
    "parts/__init__.py": "from .one import f\n",
    "parts/one.py": "from . import two\nfrom ..ground import SIZE\n",
    "parts/two.py": "",
    "claims/__init__.py": "def claim(name): ...\n",
    "claims/chapter05.py": "from vitbias.ground import SIZE\nCLAIMS = (Claim(id='R5.1'),)\n",
    "claims/chapter07.py": "from vitbias import hues\nCLAIMS = (Claim(id='R7.1'), Claim(id='T1'))\n",
    "cards.py": "from vitbias.claims import claim\n",
    "data/square.png": "png",
    "data/about.json": "{}",
}


@pytest.fixture
def book(tmp_path):
    for name, source in LIBRARY.items():
        path = tmp_path / "vitbias" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    (tmp_path / "notebooks").mkdir()
    return tmp_path


def names(root, *sources):
    folder = root / "vitbias"
    return {path.relative_to(folder).as_posix() for path in closure(list(sources), root)}


BASE = {"__init__.py"}
CLAIMS = BASE | {"claims/__init__.py"}
CARDS = CLAIMS | {"cards.py"}
FIVE = {"claims/chapter05.py", "ground.py"}
SEVEN = {"claims/chapter07.py", "hues.py"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy", set()),
        ("import vitbias", BASE),
        ("import vitbias.ground", BASE | {"ground.py"}),
        ("import vitbias.ground as g", BASE | {"ground.py"}),
        ("from vitbias.ground import SIZE", BASE | {"ground.py"}),
        ("from vitbias import ground", BASE | {"ground.py"}),
        ("from vitbias import arrays as a", BASE | {"arrays.py", "ground.py"}),
        ("import vitbias\nvitbias.arrays.x", BASE | {"arrays.py", "ground.py"}),
        ("import vitbias as v\nv.ground", BASE | {"ground.py"}),
        ("import vitbias.ground\nvitbias.hues", BASE | {"ground.py", "hues.py"}),
        ("def f():\n    from vitbias import late", BASE | {"late.py", "arrays.py", "ground.py"}),
        (
            "import vitbias.parts",
            BASE | {f"parts/{x}.py" for x in ("__init__", "one", "two")} | {"ground.py"},
        ),
        (
            "from vitbias import pictures",
            BASE | {"pictures.py", "data/square.png", "data/about.json"},
        ),
        ("from vitbias import hues", BASE | {"hues.py"}),
        ("import vitbias.claims", CLAIMS),
        ("from vitbias.cards import claim_card\nclaim_card('R5.1')", CARDS | FIVE),
        ("from vitbias.cards import claim_card\nclaim_card('T1')", CARDS | SEVEN),
        ("from vitbias.cards import claim_card\nclaim_card('Z9')", CARDS),
        ("from vitbias.cards import claim_card\nx = 'T1'\nclaim_card(x)", CARDS | FIVE | SEVEN),
        (
            "from vitbias.claims import verify\nverify('R5.1'), verify('R7.1')",
            CLAIMS | FIVE | SEVEN,
        ),
        ("from vitbias import claims\nclaims.claim('R7.1')", CLAIMS | SEVEN),
        ("from vitbias.claims import CLAIMS", CLAIMS | FIVE | SEVEN),
        ("from vitbias import claims as c\nlen(c.CLAIMS)", CLAIMS | FIVE | SEVEN),
    ],
)
def test_closure_follows_every_form_of_import(book, source, expected):
    assert names(book, source) == expected


def test_a_star_import_brings_every_module_and_no_records(book):
    records = {name for name in LIBRARY if "chapter" in name}
    assert names(book, "from vitbias import *") == set(LIBRARY) - records


def test_several_cells_are_followed_together_and_cycles_end(book):
    (book / "vitbias/ground.py").write_text("def f():\n    from vitbias import arrays\n")
    assert names(book, "import numpy", "from vitbias import ground") == {
        "__init__.py",
        "ground.py",
        "arrays.py",
    }


def test_closure_of_the_real_library_equals_what_python_loads():
    """The oracle is Python itself: what each module imports at its top level is in its closure."""
    for module in ("interface", "exact_attention", "claims", "photographs"):
        script = (
            f"import sys, vitbias.{module}; print(*(m for m in sys.modules if m[:7] == 'vitbias'))"
        )
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        found = names(ROOT, f"import vitbias.{module}")
        for loaded in run.stdout.split():
            stem = "/".join(loaded.split(".")[1:]) or "__init__"
            assert found & {f"{stem}.py", f"{stem}/__init__.py"}, loaded


# --- staleness


def put(root, source="from vitbias import arrays\nassert arrays", name="05_x", output="5\n"):
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": output}],
        "source": source,
    }
    title = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
    nb = {"cells": [title, cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / f"notebooks/{name}.ipynb").write_text(dump(normalise(nb)))


def record(root):
    entries = {name: digests(load(path), root) for name, path in notebook_paths(root).items()}
    (root / "notebooks/provenance.json").write_text(json.dumps(entries))


@pytest.fixture
def fresh(book):
    put(book)
    record(book)
    assert stale(book) == []
    return book


def test_a_notebook_without_an_entry_is_stale(book):
    put(book)
    assert stale(book) == ["05_x: it has not been executed by `make notebooks`."]


def test_changed_code_is_stale(fresh):
    put(fresh, "from vitbias import arrays\nassert arrays.SIZE")
    assert stale(fresh) == ["05_x: its code has changed since it was executed."]


def test_a_changed_module_is_named_also_when_it_is_imported_indirectly(fresh):
    (fresh / "vitbias/ground.py").write_text("SIZE = 8\n")
    assert stale(fresh) == ["05_x: vitbias/ground.py changed since it was executed."]


def test_a_removed_module_is_stale_and_an_unrelated_one_is_not(fresh):
    (fresh / "vitbias/hues.py").write_text("HUES = {}\n")
    (fresh / "vitbias/new.py").write_text("")
    assert stale(fresh) == []
    (fresh / "vitbias/ground.py").unlink()
    assert reasons(fresh) == {"05_x": "vitbias/ground.py changed since it was executed"}


def test_changed_data_is_stale(book):
    put(book, "from vitbias import pictures\nassert pictures")
    record(book)
    (book / "vitbias/data/square.png").write_text("other")
    assert stale(book) == ["05_x: vitbias/data/square.png changed since it was executed."]


def test_outputs_altered_by_hand_are_stale(fresh):
    put(fresh, output="6\n")
    assert stale(fresh) == ["05_x: its outputs are not those of its last execution."]


def test_prose_and_the_form_of_the_file_are_not_execution(fresh):
    path = fresh / "notebooks/05_x.ipynb"
    nb = load(path)
    nb["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": "More."})
    nb["metadata"] = {"mine": 1}
    path.write_text(json.dumps(nb))
    assert stale(fresh) == []


def test_an_entry_without_a_notebook_is_named(fresh):
    put(fresh, name="07_y")
    record(fresh)
    (fresh / "notebooks/05_x.ipynb").unlink()
    assert stale(fresh) == ["05_x: provenance.json has an entry, but there is no such notebook."]


def test_code_or_a_file_that_cannot_be_read_is_named(fresh):
    put(fresh, "%matplotlib inline")
    assert "05_x: a code cell is not plain Python" in stale(fresh)[0]
    (fresh / "notebooks/05_x.ipynb").write_text("{")
    assert "05_x: 05_x.ipynb: expected JSON" in stale(fresh)[0]


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_provenance_file_is_an_error(fresh, content):
    (fresh / "notebooks/provenance.json").write_text(content)
    with pytest.raises(NotebookError, match=r"provenance\.json: expected"):
        stale(fresh)
