"""The normal form, the guards and `make notebooks`; kernels only where a kernel is the point."""

import json
import os
import signal
import subprocess
import sys
import time
from copy import deepcopy
from hashlib import sha256
from pathlib import Path

import pytest

from press import notebooks
from press.figure_files import figure_files, file_violations, write_all
from press.freshness import stale
from press.guards import clashes, violations
from press.kernels import execute, kernel_environment
from press.normal_form import NotebookError, dump, figures_of, load, normalise, text

ROOT = Path(__file__).resolve().parents[1]
ALT = "A square of side seven, drawn in one colour."
CSV = "side\n7\n"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 0 h 7 v 7 h -7 z"/></svg>'
CLAIM = ":::{prf:theorem} Sum\n:label: R5.2\nThe sum is five.\n:::"


def figure_output(
    name="fig-square", alt=ALT, csv=CSV, svg=SVG, caption="A square of $7^2$ pixels."
):
    digest = sha256(csv.encode()).hexdigest()[:16]
    return {
        "output_type": "display_data",
        "data": {
            "image/svg+xml": svg,
            "text/csv": csv,
            "text/plain": f"{name}: {alt} [data sha256 {digest}]",
        },
        "metadata": {"vitbias": {"name": name, "alt": alt, "caption": caption, "kind": "chart"}},
    }


def stream(value, name="stdout"):
    return {"output_type": "stream", "name": name, "text": value}


def result(**data):
    data = {mime.replace("_", "/", 1): value for mime, value in data.items()}
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 99}


def markdown(source):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source, *outputs, count=None, **metadata):
    return {
        "cell_type": "code",
        "execution_count": count,
        "metadata": metadata,
        "outputs": list(outputs),
        "source": source,
    }


def notebook(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture
def good():
    """A notebook that breaks no rule: Markdown, a claim, its evidence, a figure."""
    return normalise(
        notebook(
            markdown("# Squares"),
            markdown(CLAIM),
            code("# claim R5.2\nassert 2 + 3 == 5\nprint(5)", stream("5\n"), count=1),
            code("square()", figure_output(), count=2, tags=["hide-input"]),
        )
    )


def found_in(nb):
    return " ".join(violations(nb, "05_x"))


# --- normal form


def test_a_good_notebook_is_its_own_normal_form(good):
    assert violations(good, "05_x") == []
    assert normalise(good) == good
    assert normalise(json.loads(dump(good))) == good


def test_normalise_does_not_modify_its_input(good):
    good["metadata"] = {"kernelspec": {"name": "mine"}}
    before = deepcopy(good)
    normalise(good)
    assert good == before


def test_what_jupyter_adds_is_removed(good):
    messy = deepcopy(good)
    messy["metadata"] = {"language_info": {"name": "python", "version": "3.11.7"}, "widgets": {}}
    messy["nbformat_minor"] = 2
    for position, cell in enumerate(messy["cells"]):
        cell["id"] = f"random-{position}"
        cell["metadata"] |= {"collapsed": True, "execution": {"iopub.execute_input": "12:00"}}
        cell["source"] = "\n" + "".join(cell["source"]).replace("\n", "\r\n") + "  \n\n"
    messy["cells"].insert(1, code("\n \n"))
    assert normalise(messy) == good


def test_a_new_cell_changes_no_other(good):
    more = deepcopy(good)
    more["cells"].insert(1, markdown("One more sentence."))
    more = normalise(more)
    assert [cell for cell in more["cells"] if cell in good["cells"]] == good["cells"]


def test_ids_are_unique_also_for_equal_cells():
    nb = normalise(notebook(markdown("Same."), markdown("Same."), markdown("Same.")))
    ids = [cell["id"] for cell in nb["cells"]]
    assert len(set(ids)) == 3
    assert normalise(nb) == nb


def test_pieces_of_a_stream_are_joined_and_keep_their_place_between_other_outputs():
    outputs = [
        stream("a"),
        stream(["b\n", "c"]),
        result(text_plain="x"),
        stream("d"),
        stream("e", "stderr"),
    ]
    cell = normalise(notebook(code("x", *outputs, count=3)))["cells"][0]
    shown = [text(output.get("text", "display")) for output in cell["outputs"]]
    assert shown == ["ab\nc", "display", "d", "e"]
    assert cell["outputs"][1]["execution_count"] == 3


def test_alt_text_caption_and_label_come_from_the_figure(good):
    metadata = good["cells"][3]["metadata"]
    assert metadata["mystnb"]["image"] == {"alt": ALT}
    assert metadata["mystnb"]["figure"] == {
        "name": "fig-square",
        "classes": "chart",
        "caption": "A square of $7^2$ pixels. [Drawing (SVG)](figures/fig-square.svg), "
        "[data (CSV)](figures/fig-square.csv).",
    }


def test_hand_set_prompts_stay_and_figure_metadata_without_a_figure_goes():
    page = {"code_prompt_show": "Show", "image": {"alt": "left over"}, "figure": {"name": "fig-x"}}
    cell = normalise(notebook(code("1", count=1, mystnb=page)))["cells"][0]
    assert cell["metadata"] == {"mystnb": {"code_prompt_show": "Show"}}


def test_dump_is_what_git_should_see(good):
    written = dump(good)
    assert written.endswith("}\n") and not written.endswith("\n\n")
    assert "\\u" not in dump(normalise(notebook(markdown("Länge ≤ 7"))))
    assert list(json.loads(written)) == sorted(json.loads(written))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<<<<<<< HEAD", "expected JSON"),
        ("[]", "expected a notebook of format 4"),
        ('{"nbformat": 3, "cells": []}', "expected a notebook of format 4"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cells that are none"),
        ('{"nbformat": 4, "cells": [7]}', "cells that are none"),
    ],
)
def test_load_names_the_file_and_what_came(tmp_path, content, said):
    (tmp_path / "05_x.ipynb").write_text(content)
    with pytest.raises(NotebookError, match=rf"05_x\.ipynb: .*{said}"):
        load(tmp_path / "05_x.ipynb")


# --- guards


def broken_code(source, *outputs, **metadata):
    return code(f"assert a\n{source}", *outputs, count=1, **metadata)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (broken_code("1", tags=["nbval-skip"]), "tag nbval-skip"),
        (broken_code("1", tags=["nbval-ignore-output"]), "tag nbval-ignore-output"),
        (broken_code("1", tags=["raises-exception"]), "tag raises-exception"),
        (broken_code("1", tags=["remove-output"]), "tag remove-output"),
        (broken_code("# NBVAL_IGNORE_OUTPUT"), "NBVAL_IGNORE_OUTPUT excludes"),
        (broken_code("#NBVAL_SKIP"), "NBVAL_SKIP excludes"),
        (broken_code("x = 1\n" * 25), "26 lines"),
        (broken_code("x = " + "1" * 69), "line 2 has 73 columns"),
        (broken_code("%matplotlib inline"), "not plain Python"),
        (broken_code("assert True"), "the assert in line 2 cannot fail"),
        (broken_code("assert (a, 'b')"), "the assert in line 2 cannot fail"),
        (broken_code("#claim R5.2"), "must read '# claim LABEL'"),
        (broken_code("# claim R5.2 and R5.3"), "must read '# claim LABEL'"),
        (broken_code("# claim R9.9"), "no claim with the label R9.9"),
        (broken_code("p = '/home/me/x'"), "the source contains a path"),
        (broken_code("# run on 2031-07-11"), "the source contains a date"),
        (broken_code("1", stream("careful\n", "stderr")), "output on stderr: 'careful'"),
        (broken_code("1", stream("at 0x7f3a5c00\n")), "memory address"),
        (broken_code("1", stream("/tmp/x\n")), "a path of one machine: '/tmp/'"),
        (broken_code("1", stream("C:\\Users\\me\n")), "a path of one machine"),
        (broken_code("1", stream("lib/site-packages/numpy\n")), "a path of one machine"),
        (broken_code("1", stream("12:30:07\n")), "a time of day"),
        (
            broken_code("1", stream("0.1234567890123\n")),
            "shows 0.1234567890123, more than 12 digits",
        ),
        (broken_code("1", result(text_plain="np.float64(0.5)")), "a NumPy repr"),
        (broken_code("1", result(text_html="<b>1</b>", text_plain="1")), "output type text/html"),
        (
            broken_code("1", result(image_png="iVBORw0KGgo=", text_plain="1")),
            "output type image/png",
        ),
        (broken_code("1", result(text_markdown="<script>1</script>")), "must not contain scripts"),
        (
            broken_code("1", {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}),
            "an error output (E)",
        ),
        (
            broken_code("1", {**result(text_plain="1"), "metadata": {"isolated": True}}),
            "metadata that",
        ),
        (markdown("See /Users/me/notes."), "a path of one machine"),
        (markdown('<iframe src="x">'), "Markdown must not contain scripts"),
        ({**markdown("x"), "attachments": {}}, "attachments"),
        ({"cell_type": "raw", "metadata": {}, "source": "x"}, "cell type raw"),
        (markdown(":::{prf:lemma} L\nText.\n:::"), "a lemma has no label"),
    ],
)
def test_each_rule_is_seen_with_the_number_of_the_cell(cell, said):
    lines = violations(normalise(notebook(markdown("# Title"), cell)), "05_x")
    assert any(line.startswith("05_x, cell 2: ") and said in line for line in lines), lines


@pytest.mark.parametrize(
    "value",
    [
        "1,234,567,890,123,456",
        "0.123456789012",
        "1/3",
        "0.000000000000001",
        "2010.11929",
        "x/home/y",
    ],
)
def test_exact_numbers_and_ordinary_text_are_welcome(value):
    nb = normalise(notebook(code("assert a", stream(f"{value}\n"), count=1)))
    assert violations(nb, "05_x") == []


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (stream(f"5\n{'x' * 73}\n"), "line 2 of the printed text has 73 columns, more than 72"),
        (stream("x" * 72), None),
        (result(text_plain="x" * 73), "line 1 of text/plain has 73 columns, more than 72"),
        (result(text_plain="x" * 73, text_csv="x\n"), "line 1 of text/plain has 73 columns"),
        (result(text_plain="x" * 72), None),
        (result(text_plain="x" * 73, text_latex="$x$"), None),
        (result(text_plain="x" * 73, text_markdown="x " * 73), None),
        (figure_output(), None),
    ],
)
def test_a_line_that_the_page_shows_as_it_is_must_fit(output, said):
    found = violations(normalise(notebook(code("assert a", output, count=1))), "05_x")
    assert len(found) == (said is not None)
    assert (said or "") in " ".join(found)


@pytest.mark.parametrize("counts", [(1, 1), (2, 3), (2, 1), (1, None), (None, None)])
def test_code_cells_are_executed_from_one_in_order(counts):
    cells = [code(f"assert a > {count}", count=count) for count in counts]
    assert "executed in order from 1" in found_in(normalise(notebook(*cells)))


def test_a_notebook_without_an_assert_or_in_another_form_is_refused(good):
    assert "asserts nothing" in found_in(normalise(notebook(code("1", count=1))))
    good["cells"][0]["id"] = "other"
    assert "not in normal form" in found_in(good)
    good["cells"][0]["id"] = "not allowed!"
    assert "not a valid notebook" in found_in(good)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ((), "asserts anything"),
        (("# claim R5.2\nassert a",), "has an output that is compared"),
        (("# claim R5.2\nprint(5)",), "asserts anything"),
        (("assert a\nprint(5)",), "asserts anything"),
    ],
)
def test_a_claim_needs_an_assert_and_a_compared_output(evidence, said):
    cells = [code(source, *[stream("5\n")] * ("print" in source)) for source in evidence]
    nb = normalise(notebook(markdown(CLAIM), *cells))
    assert f"05_x: no cell with '# claim R5.2' {said}" in found_in(nb)


@pytest.mark.parametrize(
    "kind", ["definition", "example", "observation", "lemma", "proposition", "corollary"]
)
def test_every_labelled_block_that_claims_something_needs_evidence(kind):
    nb = normalise(notebook(markdown(CLAIM.replace("theorem", kind)), code("assert a", count=1)))
    assert len(violations(nb, "05_x")) == 2


def test_assert_and_output_of_a_claim_may_stand_in_two_cells():
    cells = [
        code("# claim R5.2\nassert a", count=1),
        code("# claim R5.2\n# claim R5.3\nassert b\na", result(text_latex="$5$"), count=2),
    ]
    second = CLAIM.replace(":::", "::::").replace("R5.2", "R5.3").replace("theorem", "corollary")
    nb = normalise(notebook(markdown(f"{CLAIM}\n\n{second}"), *cells))
    assert violations(nb, "05_x") == []


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (figure_output(name="../fig-x"), "must look like 'fig-some-words'"),
        (figure_output(alt="Too short."), "has 10 characters"),
        (figure_output(alt="long " * 61), "has 305 characters"),
        (figure_output(caption="One.\n\nTwo."), "must be one paragraph"),
        (figure_output(caption="# Heading"), "must be one paragraph"),
        (figure_output(caption=""), "must be one paragraph"),
        (figure_output(svg="<svg"), "not XML"),
        (figure_output(svg="<p/>"), "not SVG"),
        (figure_output(svg=SVG.replace("<path", "<script/><path")), "the element script"),
        (figure_output(svg=SVG.replace("<path", "<foreignObject/><path")), "foreignObject"),
        (figure_output(svg=SVG.replace("<path", '<path onload="x"')), "the handler onload"),
        (figure_output(svg=SVG.replace("<path", '<use href="http://h/x"/><path')), "refers to"),
        (figure_output(svg=SVG.replace("<path", '<image href="x.png"/><path')), "refers to"),
        (
            figure_output(svg=SVG.replace("<path", "<style>@import 'x'</style><path")),
            "loads something",
        ),
        (figure_output(svg=SVG.replace("<path", '<path fill="url(http://h)"')), "loads something"),
        (figure_output(svg="<!DOCTYPE svg [<!ENTITY a 'b'>]>" + SVG), "a declaration <!ENTITY"),
        (
            figure_output(svg=SVG.replace("<path", "<desc>/root/x</desc><path")),
            "a path of one machine",
        ),
        (
            {**figure_output(), "data": {**figure_output()["data"], "text/csv": "side\n8\n"}},
            "the digest",
        ),
        (
            {
                **figure_output(),
                "metadata": {"vitbias": {**figure_output()["metadata"]["vitbias"], "kind": "map"}},
            },
            "fig-square is a 'map'",
        ),
        ({**figure_output(), "metadata": {}}, "not made by vitbias.figures.show"),
        (result(image_svg="x"), "output type image/svg"),
    ],
)
def test_each_rule_for_figures_is_seen(good, output, said):
    good["cells"][3]["outputs"] = [output]
    assert said in found_in(normalise(good))


def test_pictures_inside_a_drawing_and_the_notes_of_matplotlib_are_allowed(good):
    inside = (
        '<metadata><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata>'
        '<image href="data:image/png;base64,\niVBOR/tmp/0xabcdef+w0KGgo="/><use href="#m"/><path'
    )
    good["cells"][3]["outputs"] = [figure_output(svg=SVG.replace("<path", inside))]
    assert violations(normalise(good), "05_x") == []


def test_a_figure_stands_alone_among_the_displayed_outputs(good):
    good["cells"][3]["outputs"] += [result(text_plain="7")]
    assert "shows nothing else, got 2 outputs" in found_in(normalise(good))


def test_names_and_alternative_texts_are_unique_in_the_book(good):
    assert clashes({"05_x": good}) == []
    said = " ".join(clashes({"05_x": good, "07_y": good}))
    assert "05_x, 07_y: the figure name 'fig-square'" in said
    assert "05_x, 07_y: the alternative text" in said


# --- figure files


def test_figure_files_hold_exactly_the_stored_outputs(good, tmp_path):
    files = figure_files(good)
    assert files == {"fig-square.svg": SVG.encode(), "fig-square.csv": CSV.encode()}
    assert [figure.name for figure in figures_of(good["cells"][3])] == ["fig-square"]
    write_all({tmp_path / name: content for name, content in files.items()})
    assert file_violations({"05_x": good}, tmp_path) == []
    (tmp_path / "fig-square.svg").write_text("other")
    (tmp_path / "fig-square.csv").unlink()
    (tmp_path / "fig-old.csv").write_text("")
    assert file_violations({"05_x": good}, tmp_path) == [
        "05_x: figures/fig-square.svg is not what the notebook's output holds.",
        "05_x: figures/fig-square.csv is missing.",
        "figures/fig-old.csv: no notebook makes this file.",
    ]


def test_write_all_writes_nothing_when_one_file_cannot_be_written(tmp_path):
    (tmp_path / "a").write_text("before")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        write_all({tmp_path / "a": b"after", tmp_path / "file" / "b": b""})
    assert (tmp_path / "a").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "file"]


# --- make notebooks


@pytest.fixture
def book(tmp_path):
    """A folder with a library of one module and one notebook that has not been executed."""
    (tmp_path / "vitbias").mkdir()
    (tmp_path / "vitbias/__init__.py").write_text("")
    (tmp_path / "notebooks").mkdir()
    source = "print(5)\nassert 2 + 3 == 5"
    (tmp_path / "notebooks/05_x.ipynb").write_text(json.dumps(notebook(code(source))))
    return tmp_path


def contents(root):
    return {path: path.read_bytes() for path in (root / "notebooks").rglob("*") if path.is_file()}


def pretend(monkeypatch, *outputs, calls=None):
    """Let `execute` store these outputs in every code cell instead of starting a kernel."""

    def fake(nb, name, folder, environ):
        if calls is not None:
            calls.append(name)
        cells = deepcopy(nb["cells"])
        for count, cell in enumerate(cells, start=1):
            cell |= {"outputs": list(outputs), "execution_count": count}
        return normalise({**nb, "cells": cells})

    monkeypatch.setattr(notebooks, "execute", fake)


def test_a_kernel_executes_the_notebook_in_place_and_it_is_fresh_after(book, capsys):
    assert notebooks.main(["--check"], book) == 1
    assert "05_x: it has not been executed" in capsys.readouterr().out
    assert notebooks.main([], book) == 0
    assert "05_x: executed" in capsys.readouterr().out
    stored = load(book / "notebooks/05_x.ipynb")
    assert stored["cells"][0]["outputs"] == [
        {"name": "stdout", "output_type": "stream", "text": ["5\n"]}
    ]
    assert dump(stored) == (book / "notebooks/05_x.ipynb").read_text()
    assert notebooks.main(["--check"], book) == 0


def test_a_failing_cell_is_named_and_changes_nothing(book, capsys):
    cells = [markdown("# Title"), code("x = 7\nassert x == 8, 'seven is not eight'")]
    (book / "notebooks/05_x.ipynb").write_text(dump(notebook(*cells)))
    before = contents(book)
    assert notebooks.main([], book) == 1
    error = capsys.readouterr().err
    assert "05_x, cell 2: AssertionError: seven is not eight\n    assert x == 8" in error
    assert "Traceback" not in error and contents(book) == before


def test_a_kernel_that_ends_and_a_warning_are_seen(book):
    folder = book / "notebooks"
    with pytest.raises(NotebookError, match="05_x, cell 1: the kernel ended"):
        execute(notebook(code("import os\nos._exit(3)")), "05_x", folder, os.environ)
    warn = "import warnings\nwarnings.warn('old', PendingDeprecationWarning)\nassert __debug__"
    settings = {
        **os.environ,
        "PYTHONOPTIMIZE": "1",
        "PYTHONWARNINGS": "ignore",
        "MPLBACKEND": "agg",
    }
    nb = execute(notebook(code(warn)), "05_x", folder, settings)
    assert "output on stderr" in found_in(nb)


def test_the_kernel_environment_drops_personal_settings():
    before = {"MPLBACKEND": "agg", "PYTHONOPTIMIZE": "1", "IPYTHONDIR": "mine", "PATH": "p"}
    after = {"IPYTHONDIR": "empty", "PYTHONWARNINGS": "default", "PATH": "p"}
    assert kernel_environment(before, "empty") == after


def test_only_stale_notebooks_run_unless_all_is_asked(book, monkeypatch, capsys):
    calls = []
    pretend(monkeypatch, stream("5\n"), calls=calls)
    assert notebooks.main([], book) == 0 and notebooks.main(["05_x"], book) == 0
    assert calls == ["05_x"]
    assert "05_x: is fresh" in capsys.readouterr().out
    assert notebooks.main(["--all", "notebooks/05_x.ipynb"], book) == 0
    assert calls == ["05_x", "05_x"]


def test_a_fresh_notebook_is_still_brought_into_normal_form(book, monkeypatch, capsys):
    pretend(monkeypatch, stream("5\n"))
    notebooks.main([], book)
    after = contents(book)
    path = book / "notebooks/05_x.ipynb"
    path.write_text(json.dumps({**load(path), "metadata": {"mine": 1}}))
    assert notebooks.main([], book) == 0
    assert "normalised" in capsys.readouterr().out and contents(book) == after


def test_figures_are_written_and_removed_with_their_notebook(book, monkeypatch):
    pretend(monkeypatch, figure_output())
    assert notebooks.main([], book) == 0
    folder = book / "notebooks/figures"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "fig-square.svg": SVG.encode(),
        "fig-square.csv": CSV.encode(),
    }
    pretend(monkeypatch, figure_output(name="fig-other"))
    assert notebooks.main(["--all"], book) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["fig-other.csv", "fig-other.svg"]
    (book / "notebooks/07_y.ipynb").write_text(
        (book / "notebooks/05_x.ipynb").read_text().replace("5", "7")
    )
    assert notebooks.main([], book) == 1  # two figures of one name


def test_a_failed_run_removes_no_figure(book, monkeypatch):
    pretend(monkeypatch, figure_output())
    assert notebooks.main([], book) == 0
    before = contents(book / "notebooks/figures")
    (book / "notebooks/05_x.ipynb").write_text(dump(notebook(code("assert 5 == 7"))))
    pretend(monkeypatch, stream("/tmp/x\n"))
    assert notebooks.main([], book) == 1
    assert contents(book / "notebooks/figures") == before


def test_a_notebook_that_breaks_a_rule_is_not_written(book, monkeypatch, capsys):
    pretend(monkeypatch, stream("/tmp/x\n"))
    before = contents(book)
    assert notebooks.main([], book) == 1
    assert "05_x, cell 1: the printed text contains a path" in capsys.readouterr().err
    assert contents(book) == before


def test_entries_without_a_notebook_go(book, monkeypatch):
    pretend(monkeypatch, stream("5\n"))
    notebooks.main([], book)
    path = book / "notebooks/provenance.json"
    path.write_text(dump({**json.loads(path.read_text()), "06_gone": {}}))
    assert stale(book) == ["06_gone: provenance.json has an entry, but there is no such notebook."]
    assert notebooks.main([], book) == 0
    assert stale(book) == []


def test_an_unknown_name_gets_the_nearest_ones(book, capsys):
    assert notebooks.main(["05_y"], book) == 2
    assert "did you mean '05_x'?" in capsys.readouterr().err


def test_an_interruption_leaves_every_file_as_it_was(book):
    slow = "import pathlib, time\npathlib.Path('../started').touch()\ntime.sleep(60)"
    (book / "notebooks/05_x.ipynb").write_text(dump(notebook(code(slow))))
    before = contents(book)
    script = f"import pathlib, sys, press.notebooks as n; sys.exit(n.main([], pathlib.Path({str(book)!r})))"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "book")},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (book / "started").exists() and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130, error
    assert error.strip() == "notebooks: error: interrupted; nothing is half-written"
    assert contents(book) == before


def test_re_execution_refuses_to_run_with_asserts_off(tmp_path):
    (tmp_path / "conftest.py").write_bytes((ROOT / "notebooks/conftest.py").read_bytes())
    settings = str(ROOT / "pyproject.toml")
    command = [sys.executable, "-m", "pytest", "-c", settings, "--nbval", str(tmp_path)]
    environ = {**os.environ, "PYTHONOPTIMIZE": "1"}
    run = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert run.stderr.splitlines()[0].startswith("ERROR: asserts are off: run without -O")
