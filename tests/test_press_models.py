"""torch is taken as a CPU build where pip finds one, else as the lock has it, and that is said first."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from press import environment, models
from press.environment import EnvironmentFailure, main, prepare
from press.models import LOCK, install_models, without_torch
from press.status import ENVIRONMENT

REAL = (Path(__file__).parents[1] / LOCK).read_text(encoding="utf-8")
SMALL = """\
cuda-bindings==1 ; sys_platform == 'linux' \\
    --hash=sha256:0
numpy==2 \\
    --hash=sha256:1 \\
    --hash=sha256:2
nvidia-cublas==3 \\
    --hash=sha256:3
torch==9.8.7 \\
    --hash=sha256:4
torchvision==5 \\
    --hash=sha256:5
triton==6 \\
    --hash=sha256:6
"""
REST = "numpy==2 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\ntorchvision==5 \\\n    --hash=sha256:5\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / LOCK).write_text(SMALL)
    (tmp_path / environment.LOCK).write_text("one==1 --hash=sha256:0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Machine:
    """What was run instead of venv and pip, and whether pip finds a CPU build."""

    def __init__(self, root, has_cpu):
        self.root, self.has_cpu, self.ran, self.locks = root, has_cpu, [], []

    def run(self, root, command, purpose):
        line = shlex.join(command)
        self.ran.append(line)
        if "-r" in command:
            self.locks.append(Path(root, command[command.index("-r") + 1]).read_text())
        if "+cpu" in line and not self.has_cpu:
            raise EnvironmentFailure("no matching distribution")
        if "venv" in command:
            (self.root / ".venv-models/bin").mkdir(parents=True)
            (self.root / ".venv-models/bin/python").symlink_to(sys.executable)


@pytest.fixture
def machine(root, monkeypatch, request):
    found = Machine(root, request.param)
    monkeypatch.setattr(environment, "_run", found.run)
    return found


@pytest.mark.parametrize("machine", [True], indirect=True)
def test_a_cpu_build_replaces_torch_and_what_cuda_needs(root, machine, capsys):
    install_models(root, root / ".venv-models")
    torch, rest = machine.ran
    assert torch.endswith("--no-deps --only-binary :all: --no-compile torch==9.8.7+cpu")
    assert "--no-deps --require-hashes --only-binary :all:" in rest
    assert machine.locks == [REST]
    assert "torch==9.8.7+cpu is what pip finds here" in capsys.readouterr().out


@pytest.mark.parametrize("machine", [False], indirect=True)
@pytest.mark.parametrize(("platform", "lines"), [("linux", 1), ("darwin", 0)])
def test_without_one_the_lock_is_installed_whole(
    root, machine, capsys, monkeypatch, platform, lines
):
    monkeypatch.setattr(models.sys, "platform", platform)
    install_models(root, root / ".venv-models")
    assert machine.locks == [SMALL]
    assert "--no-deps --require-hashes --only-binary :all:" in machine.ran[-1]
    said = capsys.readouterr().out
    assert said.count("\n") == lines
    if lines:
        version = ".".join(map(str, sys.version_info[:2]))
        assert f"no CPU build of torch 9.8.7 for CPython {version}" in said
        assert "about 3 GB of downloads" in said


@pytest.mark.parametrize("machine", [True], indirect=True)
def test_the_environment_follows_its_own_lock(root, machine):
    venv = root / ".venv-models"
    settings = {"lock": LOCK, "packages": install_models}
    assert prepare(root, venv, **settings)
    assert len(machine.ran) == 4
    assert not prepare(root, venv, **settings)
    (root / environment.LOCK).write_text("two==2 --hash=sha256:0\n")
    assert not prepare(root, venv, **settings)
    (root / LOCK).write_text(SMALL.replace("numpy==2", "numpy==3"))
    (venv / "bin/python").unlink()
    (venv / "bin").rmdir()
    for path in venv.iterdir():
        path.unlink()
    venv.rmdir()
    assert prepare(root, venv, **settings)
    assert "numpy==3" in machine.locks[-1]


@pytest.mark.parametrize("machine", [True], indirect=True)
def test_an_installation_that_fails_says_so(root, machine, capsys, monkeypatch):
    run = machine.run

    def failing(root, command, purpose):
        run(root, command, purpose)
        if "-r" in command:
            raise EnvironmentFailure("cannot install: no network")

    monkeypatch.setattr(environment, "_run", failing)
    status = main([".venv-models"], lock=LOCK, packages=install_models)
    assert status == ENVIRONMENT
    assert capsys.readouterr().err == "environment: cannot install: no network\n"


def test_the_real_lock_without_torch_keeps_all_the_rest():
    def names(text):
        return re.findall(r"^([\w.-]+)==", text, re.MULTILINE)

    kept = names(without_torch(REAL))
    gone = [name for name in names(REAL) if name not in kept]
    assert {"torch", "triton", "cuda-bindings"} <= set(gone)
    assert all(
        name in ("torch", "triton") or name.startswith(("nvidia-", "cuda-")) for name in gone
    )
    assert {"torchvision", "timm", "transformers", "numpy", "safetensors"} <= set(kept)
    assert without_torch(REAL).count("--hash=") > 200
