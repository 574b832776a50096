"""A test of the tests: notebooks that were tampered with are caught, each by the checks named here.

One small notebook is executed once. Copies of it are altered in the ways that nbval alone was
measured to miss, and in those that it sees. Three checks look at every copy: the guards, the digests
of the last execution, and one strict run of nbval over all copies.
"""

import os
import subprocess
import sys
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import pytest

from press.figure_files import figure_files, file_violations, write_all
from press.freshness import digests, provenance_path, reasons
from press.guards import violations
from press.kernels import execute
from press.normal_form import dump, normalise, text

ROOT = Path(__file__).resolve().parents[1]

CLAIM = ":::{prf:theorem} Sum\n:label: R5.2\nThe sum is five.\n:::"
PRINTED, FRACTION, LATEX, MARKDOWN, FIGURE = range(2, 7)  # positions of the cells
SOURCES = (
    "from fractions import Fraction\nfrom IPython.display import Latex, Markdown\n"
    "from vitbias.figures import show",
    "# claim R5.2\nassert 2 + 3 == 5\nprint('sum', 2 + 3)",
    "Fraction(3, 7)",
    "Latex('$2 + 3 = 5$')",
    "Markdown('The sum is **five**.')",
    "def draw(figure, data):\n    figure.subplots().plot(data['width'], data['nullity'])\n\n"
    "show(draw, {'width': [2, 3, 5], 'nullity': [5, 4, 2]},\n"
    "     name='fig-fall', alt='A line that falls from five to two.',\n"
    "     caption='The nullity falls with the width.')",
)


def change_stdout(cells):
    cells[PRINTED]["outputs"][0]["text"] = ["sum 6\n"]


def change_plain_text(cells):
    cells[FRACTION]["outputs"][0]["data"]["text/plain"] = ["Fraction(4, 7)"]


def change_latex(cells):
    cells[LATEX]["outputs"][0]["data"]["text/latex"] = ["$2 + 3 = 6$"]


def change_markdown(cells):
    cells[MARKDOWN]["outputs"][0]["data"]["text/markdown"] = ["The sum is **six**."]


def change_figure_data(cells):
    """Also in the line with the digest, so that the figure agrees with itself."""
    data = cells[FIGURE]["outputs"][0]["data"]
    before = sha256(text(data["text/csv"]).encode()).hexdigest()[:16]
    data["text/csv"] = text(data["text/csv"]).replace("5,2", "5,3")
    after = sha256(data["text/csv"].encode()).hexdigest()[:16]
    data["text/plain"] = text(data["text/plain"]).replace(before, after)


def replace_drawing(cells):
    data = cells[FIGURE]["outputs"][0]["data"]
    data["image/svg+xml"] = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 0 h 7"/></svg>'


def change_caption(cells):
    about = cells[FIGURE]["outputs"][0]["metadata"]["vitbias"]
    about["caption"] = "The nullity rises with the width."


def inject_picture(cells):
    cells[FRACTION]["outputs"][0]["data"]["image/png"] = ["iVBORw0KGgo="]


def add_output(cells):
    cells[FRACTION]["outputs"].append(deepcopy(cells[FRACTION]["outputs"][0]))


def remove_output(cells):
    cells[FRACTION]["outputs"] = []


def strip_all_outputs(cells):
    for cell in cells[1:]:
        cell |= {"outputs": [], "execution_count": None}


def skip_every_cell(cells):
    for cell in cells[1:]:
        cell["metadata"]["tags"] = ["nbval-skip"]


def change_code(cells):
    cells[PRINTED]["source"] = text(cells[PRINTED]["source"]).replace("== 5", ">= 0")


def let_a_cell_raise(cells):
    cells[FRACTION]["source"] = "1 / 0"
    cells[FRACTION]["metadata"]["tags"] = ["raises-exception"]
    error = {"ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": []}
    cells[FRACTION]["outputs"] = [{"output_type": "error", **error}]


CAUGHT_BY = {
    change_stdout: {"digests", "nbval"},
    change_plain_text: {"digests", "nbval"},
    change_latex: {"digests", "nbval"},
    change_markdown: {"digests", "nbval"},
    change_figure_data: {"digests", "guards", "nbval"},
    replace_drawing: {"digests", "guards"},
    change_caption: {"digests", "nbval"},
    inject_picture: {"digests", "guards", "nbval"},
    add_output: {"digests", "nbval"},
    remove_output: {"digests", "nbval"},
    strip_all_outputs: {"digests", "guards"},
    skip_every_cell: {"guards"},
    change_code: {"digests"},
    let_a_cell_raise: {"digests", "guards"},
}


@pytest.fixture(scope="session")
def caught(tmp_path_factory):
    """Name of each copy, and of the original, to the checks that object to it."""
    root = tmp_path_factory.mktemp("book")
    folder = root / "notebooks"
    folder.mkdir()
    (root / "vitbias").symlink_to(ROOT / "vitbias")
    (folder / "conftest.py").write_bytes((ROOT / "notebooks/conftest.py").read_bytes())
    original = execute(notebook(), "original", folder, os.environ)
    copies = {"original": original}
    for tamper in CAUGHT_BY:
        copy = deepcopy(original)
        tamper(copy["cells"])
        copies[tamper.__name__] = normalise(copy)
    # figures and digests are those of the execution, as if every copy had been made from it
    files = {folder / "figures" / name: data for name, data in figure_files(original).items()}
    files |= {folder / f"{name}.ipynb": dump(copy).encode() for name, copy in copies.items()}
    files[provenance_path(root)] = dump(dict.fromkeys(copies, digests(original, root))).encode()
    write_all(files)
    checks = {
        "guards": {
            name
            for name, copy in copies.items()
            if violations(copy, name) or file_violations({name: copy}, folder / "figures")
        },
        "digests": set(reasons(root)),
        "nbval": failed_under_nbval(root),
    }
    return {name: {check for check, found in checks.items() if name in found} for name in copies}


def notebook():
    cells = [{"cell_type": "markdown", "metadata": {}, "source": CLAIM}]
    for source in SOURCES:
        cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
        cells.append({**cell, "source": source})
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def failed_under_nbval(root):
    """The notebooks with a failed cell in one strict run, with the settings of the repository.

    The run is shared by two processes, because most of its time is the start of a kernel for each copy.
    """
    settings, notebooks = ROOT / "pyproject.toml", sorted((root / "notebooks").glob("*.ipynb"))
    command = [sys.executable, "-m", "pytest", "-c", str(settings), f"--rootdir={root}"]
    command += ["--nbval", "-p", "no:cacheprovider"]
    runs = {
        root / f"junit{part}.xml": subprocess.Popen(
            [*command, f"--junitxml={root / f'junit{part}.xml'}", *map(str, notebooks[part::2])],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for part in range(2)
    }
    said = [process.communicate()[0] for process in runs.values()]
    cases = [case for junit in runs for case in ElementTree.parse(junit).iter("testcase")]
    assert len(cases) == (len(CAUGHT_BY) + 1) * len(SOURCES), said
    faulty = (c for c in cases if c.find("failure") is not None or c.find("error") is not None)
    return {case.get("classname").split(".")[-2] for case in faulty}


def test_the_untampered_notebook_passes_every_check(caught):
    assert caught["original"] == set()


@pytest.mark.parametrize("tamper", CAUGHT_BY, ids=lambda tamper: tamper.__name__)
def test_a_tampered_notebook_is_caught(caught, tamper):
    assert caught[tamper.__name__] == CAUGHT_BY[tamper] != set()
