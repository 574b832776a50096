"""The environment is made once, made anew when it has to be, and never half of it."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from press import environment
from press.environment import EnvironmentFailure, main, prepare
from press.status import ENVIRONMENT, INTERRUPTED

MADE = ["-m venv --clear", "--require-hashes", "-e ."]


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "a folder"
    root.mkdir()
    (root / "requirements.lock").write_text("one==1 --hash=sha256:0\n")
    (root / "pyproject.toml").write_text("[project]\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def venv(root):
    return root / ".venv"


@pytest.fixture
def commands(monkeypatch, venv):
    """What was run instead of venv and pip; an environment is a link to this interpreter."""
    ran = []

    def run(root, command, purpose):
        ran.append(shlex.join(command))
        if "venv" in command:
            (venv / "bin").mkdir(parents=True, exist_ok=True)
            (venv / "pyvenv.cfg").touch()
            (venv / "bin/python").unlink(missing_ok=True)
            (venv / "bin/python").symlink_to(sys.executable)

    monkeypatch.setattr(environment, "_run", run)
    return ran


def made(commands):
    """The parts of ``MADE`` that were run, in their order; clears the record."""
    parts = [part for command in commands for part in MADE if part in command]
    assert len(parts) == len(commands)
    commands.clear()
    return parts


def test_a_new_environment_is_made_once(root, venv, commands):
    assert prepare(root, venv)
    assert made(commands) == MADE
    assert not prepare(root, venv)
    assert made(commands) == []


def test_packages_come_with_hashes_and_as_wheels_and_the_library_alone(root, venv, commands):
    prepare(root, venv)
    _, locked, library = commands
    assert "--require-hashes --only-binary :all:" in locked
    assert "-r requirements.lock" in locked
    assert "--no-deps --no-build-isolation" in library


def test_another_project_file_installs_the_library_alone(root, venv, commands):
    prepare(root, venv)
    commands.clear()
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert prepare(root, venv)
    assert made(commands) == MADE[2:]


def other_lock(root, venv):
    (root / "requirements.lock").write_text("two==2 --hash=sha256:0\n")


def no_python(root, venv):
    (venv / "bin/python").unlink()


def broken_python(root, venv):
    (venv / "bin/python").unlink()
    (venv / "bin/python").symlink_to("/bin/false")


def restamp(venv, key, value):
    stamp = venv / environment.STAMP
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {key: value}))


def other_python(root, venv):
    restamp(venv, "python", "3.11.0 (main)")


def moved(root, venv):
    restamp(venv, "root", str(root.parent / "elsewhere"))


def no_stamp(root, venv):
    (venv / environment.STAMP).unlink()


def spoilt_stamp(root, venv):
    (venv / environment.STAMP).write_text("{")


@pytest.mark.parametrize(
    "change",
    [other_lock, no_python, broken_python, other_python, moved, no_stamp, spoilt_stamp],
)
def test_what_makes_an_environment_anew(root, venv, commands, change):
    prepare(root, venv)
    commands.clear()
    change(root, venv)
    assert prepare(root, venv)
    assert made(commands) == MADE
    assert not prepare(root, venv)


def test_an_interpreter_that_was_named_has_to_be_the_one(root, venv, commands, monkeypatch):
    prepare(root, venv)
    commands.clear()
    monkeypatch.setattr(environment.sys, "version", "3.99.0 (main)")
    assert not prepare(root, venv)
    assert prepare(root, venv, exactly=True)
    assert made(commands) == MADE


@pytest.mark.parametrize("part", MADE)
def test_an_interruption_leaves_nothing_that_counts_as_ready(
    root, venv, commands, monkeypatch, part, capsys
):
    run = environment._run

    def interrupted(root, command, purpose):
        run(root, command, purpose)
        if part in shlex.join(command):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(environment, "_run", interrupted)
        assert main([str(venv)]) == INTERRUPTED
    assert "starts afresh" in capsys.readouterr().err
    commands.clear()
    assert prepare(root, venv)
    assert made(commands) == MADE


def test_a_folder_of_something_else_is_left_alone(root, venv, commands):
    venv.mkdir()
    (venv / "letter.txt").write_text("dear")
    with pytest.raises(EnvironmentFailure, match="name another folder"):
        prepare(root, venv)
    assert os.listdir(venv) == ["letter.txt"]
    assert commands == []


def test_a_failed_installation_says_what_pip_said(root, venv, capsys, monkeypatch):
    failure = [
        sys.executable,
        "-c",
        "print('noise\\n' * 30 + 'hash mismatch'); raise SystemExit(1)",
    ]
    monkeypatch.setattr(
        environment, "_create", lambda *_: environment._run(root, failure, "install")
    )
    assert main([str(venv)]) == ENVIRONMENT
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "environment: cannot install:"
    assert said[-1] == "  hash mismatch"
    assert len(said) == 1 + environment.SHOWN_LINES


def test_without_a_lock_there_is_one_line(root, venv, capsys):
    (root / "requirements.lock").unlink()
    assert main([str(venv)]) == ENVIRONMENT
    assert capsys.readouterr().err.count("\n") == 1


def test_a_second_call_waits_for_the_first(root, venv, commands):
    with environment._alone(root):
        second = subprocess.Popen(
            [sys.executable, "-m", "press.environment", str(venv)],
            env=os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(environment.__file__))},
        )
        # it would be done long before, were it not waiting
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.7)
        prepare_unlocked(root, venv)
    assert second.wait(20) == 0


def prepare_unlocked(root, venv):
    environment._create(root, venv)
    wanted = {
        "lock": environment._digest(root / environment.LOCK),
        "python": environment._version(venv),
        "root": str(root),
        "project": environment._digest(root / environment.PROJECT),
    }
    environment._write_stamp(venv, wanted)
