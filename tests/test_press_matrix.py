"""`make test-matrix`: one change at a time, and nothing counts as passed that was not compared."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from press import matrix
from press.matrix import BASELINE, SIMD, Outcome, Setting, outcome, report, run, settings

THREADS = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}


def test_each_setting_changes_one_thing_of_the_baseline():
    changes = [dict(setting.changes) for setting in settings(["X86_V3", "X86_V4"], 2)]
    assert changes == [
        {},
        THREADS,
        {SIMD: "X86_V3 X86_V4"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2"},
    ]
    assert not any(setting.missing for setting in settings(["X86_V3"], 2))


def test_a_setting_replaces_what_the_caller_had_set():
    mine = {"PATH": "p", SIMD: "X86_V3", "OMP_NUM_THREADS": "16", "OPENBLAS_CORETYPE": "Haswell"}
    kept = {"PATH": "p", "OPENBLAS_CORETYPE": "Haswell"}
    assert Setting("").environment(mine) == kept | BASELINE
    assert Setting("", THREADS).environment(mine) == kept | BASELINE | THREADS


def test_what_a_machine_cannot_vary_is_said_and_not_counted():
    missing = [setting.name for setting in settings([], 1) if setting.missing]
    assert missing == ["2 BLAS threads", "without SIMD dispatch"]
    shown, failed = report([(setting, None, 0.0) for setting in settings([], 1) if setting.missing])
    assert "not run: one core" in shown and "not run: nothing to switch off" in shown
    assert shown.endswith("\n0 passed, 0 failed") and failed == 0


def test_the_report_counts_settings():
    rows = [
        (Setting("first"), Outcome(7, ()), 3.0),
        (Setting("second"), Outcome(7, ("05 Cell 3\ndiffers", "05 Cell 5\ndiffers")), 5.0),
    ]
    shown, failed = report(rows)
    assert shown.splitlines()[1].split() == ["first", "7", "0", "3"]
    assert shown.splitlines()[2].split() == ["second", "7", "2", "5"]
    assert shown.endswith("\n1 passed, 1 failed") and failed == 1


def test_skipped_cells_are_failures():
    junit = (
        '<testsuites><testsuite><testcase classname="n" name="Cell 0"/>'
        '<testcase classname="n" name="Cell 1"><skipped message="skip"/></testcase>'
        '<testcase classname="n" name="Cell 2"><failure>differs</failure></testcase>'
        '<testcase classname="n" name="Cell 3"><error>died</error></testcase>'
        "</testsuite></testsuites>"
    )
    found = outcome(junit)
    assert found.cells == 4
    assert [text.split("\n")[0] for text in found.failures] == ["n Cell 1", "n Cell 2", "n Cell 3"]


@pytest.fixture
def book(tmp_path):
    """A folder with a notebook that prints a string's hash, executed with hash seed 0."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nbval-current-env\n")
    command = [sys.executable, "-c", "print(hash('token'))"]
    seeded = {**os.environ, "PYTHONHASHSEED": "0"}
    printed = subprocess.run(command, env=seeded, capture_output=True, text=True).stdout
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "id": "a",
        "metadata": {},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": printed}],
        "source": "print(hash('token'))",
    }
    nb = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "notebooks/05_x.ipynb").write_text(json.dumps(nb))
    return tmp_path


def test_a_difference_under_one_setting_is_found_there_and_only_there(book):
    assert run(Setting("baseline"), book, os.environ) == Outcome(1, ())
    found = run(Setting("hash seed 1", {"PYTHONHASHSEED": "1"}), book, os.environ)
    assert found.cells == 1 and "Cell 0" in found.failures[0]
    assert "Cell outputs differ" in found.failures[0]


def test_a_run_that_compares_nothing_has_failed(book):
    (book / "notebooks/05_x.ipynb").unlink()
    assert run(Setting("baseline"), book, os.environ).failures
    (book / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    assert "no-such-option" in run(Setting("baseline"), book, os.environ).failures[0]


def test_vector_instructions_that_stay_on_are_a_failure(book, monkeypatch):
    monkeypatch.setattr(matrix, "used_features", lambda environ: ["X86_V3"])
    found = run(Setting("simd", {SIMD: "X86_V3"}), book, os.environ)
    assert found == Outcome(0, ("NumPy still uses X86_V3",))


def test_numpy_obeys_the_switch():
    features = matrix.used_features(Setting("").environment(os.environ))
    off = Setting("", {SIMD: " ".join(features)}).environment(os.environ)
    assert matrix.used_features(off) == []


@pytest.mark.parametrize("failures", [(), ("05 Cell 3\ndiffers",)])
def test_the_exit_code_says_whether_anything_differs(failures, monkeypatch, capsys):
    monkeypatch.setattr(matrix, "run", lambda *_: Outcome(7, failures))
    assert matrix.main(Path()) == bool(failures)
    closing = capsys.readouterr().out.splitlines()[-1]
    assert closing.endswith(" 0 failed") == (not failures)
