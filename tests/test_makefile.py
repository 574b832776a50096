"""The Makefile finds an interpreter that works, keeps the environment, and calls what it says it calls."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
MAKE = shutil.which("make")
SHIM = "#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n"
OLD = """#!/bin/sh
case "$2" in *print*) echo 3.9.2 ;; *) exit 1 ;; esac
"""
WITHOUT_VENV = """#!/bin/sh
case "$2" in *print*) echo 3.11.2 ;; *ensurepip*) exit 1 ;; esac
"""
WORKING = f"""#!/bin/sh
exec {sys.executable} "$@"
"""
# stands for press.environment: a link to this interpreter is the environment
MAKE_ENVIRONMENT = """
import sys
from pathlib import Path
venv = Path(sys.argv[1])
(venv / "bin").mkdir(parents=True, exist_ok=True)
if not (venv / "bin/python").exists():
    (venv / "bin/python").symlink_to(sys.executable)
print("environment", *sys.argv[1:])
"""
# stands for press.models likewise
MAKE_MODELS = MAKE_ENVIRONMENT.replace('"environment"', '"models"')
MODULES = ("press/build.py", "press/matrix.py", "press/notebooks.py")


@pytest.fixture
def project(tmp_path):
    """The Makefile over stand-ins that print how they are called; its folder has a space."""
    root = tmp_path / "a project"
    (root / "book/press").mkdir(parents=True)
    shutil.copy(HOUSE / "Makefile", root)
    for module in MODULES:
        (root / "book" / module).write_text("import sys\nprint(__spec__.name, *sys.argv[1:])\n")
    (root / "book/press/environment.py").write_text(MAKE_ENVIRONMENT)
    (root / "book/press/models.py").write_text(MAKE_MODELS)
    (root / "path").mkdir()
    for name in ("cat", "echo", "find", "mktemp", "rm"):
        (root / "path" / name).symlink_to(shutil.which(name))
    return root


def program(project, name, script):
    path = project / "path" / name
    path.write_text(script)
    path.chmod(0o755)
    return path


def make(project, *arguments, **variables):
    return subprocess.run(
        [MAKE, *arguments],
        cwd=project,
        env={"PATH": str(project / "path"), "HOME": str(project)} | variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        (["book"], "press.build"),
        (["test-matrix"], "press.matrix"),
        (["notebooks"], "press.notebooks"),
        (["notebooks", "ALL=1"], "press.notebooks --all"),
        (["notebooks", "ALL=0"], "press.notebooks"),
    ],
)
def test_targets_prepare_the_environment_and_call_one_module(project, arguments, called):
    program(project, "python3", WORKING)
    done = make(project, *arguments)
    assert done.stdout.splitlines() == ["environment .venv", called]
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_target_make_says_what_there_is(project):
    done = make(project)
    for target in ("book", "test", "test-matrix", "test-models", "bench", "notebooks", "clean"):
        assert f"make {target} " in done.stdout


def test_programs_that_do_not_work_are_passed_over(project):
    program(project, "python3", SHIM)
    program(project, "python3.13", OLD)
    program(project, "python3.12", WITHOUT_VENV)
    program(project, "python3.11", WORKING)
    assert make(project, "book").stdout.splitlines() == ["environment .venv", "press.build"]


def test_the_environment_s_own_interpreter_comes_first(project):
    program(project, "python3", WORKING)
    assert make(project, "book").returncode == 0
    program(project, "python3", SHIM)
    assert make(project, "book").returncode == 0


def test_an_interpreter_can_be_named(project):
    program(project, "python3", SHIM)
    named = program(project, "my python", WORKING)
    done = make(project, "book", f"PYTHON={named}", "VENV=.venv-mine")
    assert done.stdout.splitlines() == ["environment .venv-mine --exactly", "press.build"]
    named.write_text(OLD)
    assert "my python is 3.9.2" in make(project, "book", f"PYTHON={named}").stderr


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "and none was found"),
        (SHIM, "and none was found"),
        (OLD, "python3 is 3.9.2"),
        (WITHOUT_VENV, "python3 has no venv or no pip"),
    ],
)
def test_without_an_interpreter_one_line_says_what_to_do(project, script, said):
    if script:
        program(project, "python3", script)
    done = make(project, "book")
    first, second = done.stderr.splitlines()
    assert said in first
    assert "PYTHON=" in first
    assert second.endswith("environment] Error 3")
    assert done.stdout == ""


def test_a_failed_target_fails(project):
    program(project, "python3", WORKING)
    (project / "book/press/build.py").write_text("raise SystemExit(1)")
    assert make(project, "book").returncode == 2


def test_settings_from_outside_do_not_reach_the_tests(project):
    program(project, "python3", WORKING)
    (project / "book/press/build.py").write_text(
        "import os\nprint(sorted({'MPLBACKEND', 'PYTHONOPTIMIZE', 'PYTHONWARNINGS'} & set(os.environ)),"
        "os.environ['PYTHONPATH'])"
    )
    done = make(project, "book", MPLBACKEND="agg", PYTHONOPTIMIZE="1", PYTHONWARNINGS="ignore")
    assert done.stdout.splitlines()[-1] == "[] book"


RELEASED = "-m pytest --quiet -o addopts=--import-mode=importlib tests/models"


@pytest.mark.parametrize(
    ("arguments", "folder", "options"),
    [
        ([], ".venv-models", ""),
        (["VENV=mine"], ".venv-models", ""),
        (["MODELS=some folder"], "some folder", ""),
        (["PYTHON=python3"], ".venv-models", " --exactly"),
    ],
)
def test_released_code_runs_in_an_environment_of_its_own(project, arguments, folder, options):
    program(project, "python3", SAYING)
    done = make(project, "test-models", *arguments)
    assert done.stdout.splitlines()[:2] == [
        f"models {folder}{options}",
        "test-models: released code beside the library",
    ]
    assert not (project / ".venv").exists()
    (project / folder / "bin/python").unlink()
    program(project, f"../{folder}/bin/python", SAYING)
    done = make(project, "test-models", *arguments)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, RELEASED)
    assert make(project, "test-models", *arguments, FAIL=RELEASED).returncode == 2


def test_every_benchmark_runs_by_itself_and_fails_the_target(project):
    program(project, "python3", WORKING)
    (project / "benchmarks").mkdir()
    for name in ("timing", "one", "two"):
        (project / f"benchmarks/{name}.py").write_text(
            "import os\nprint(os.path.basename(__file__), os.environ['OMP_NUM_THREADS'])\n"
        )
    done = make(project, "bench")
    assert done.stdout.splitlines() == ["environment .venv", "one.py 1", "two.py 1"]
    assert (done.returncode, done.stderr) == (0, "")
    (project / "benchmarks/one.py").write_text("raise SystemExit(1)")
    done = make(project, "bench")
    assert (done.returncode, done.stdout.splitlines()) == (2, ["environment .venv"])


def test_clean_removes_what_was_made_and_nothing_else(project):
    for path in (
        "_build/html",
        ".venv/bin",
        ".venv-models/bin",
        ".mypy_cache",
        "book/press/__pycache__",
        "vitbias",
    ):
        (project / path).mkdir(parents=True, exist_ok=True)
    (project / ".venv/pyvenv.cfg").touch()
    (project / ".venv-models/pyvenv.cfg").touch()
    for folder in ("benchmarks", "notebooks", "tests"):
        (project / folder).mkdir()
    done = make(project, "clean")
    assert (done.returncode, done.stderr) == (0, "")
    kept = {"Makefile", "benchmarks", "book", "notebooks", "path", "tests", "vitbias"}
    assert set(os.listdir(project)) == kept
    assert not (project / "book/press/__pycache__").exists()


def test_clean_does_not_remove_a_folder_that_is_no_environment(project):
    (project / "mine").mkdir()
    for folder in ("benchmarks", "notebooks", "tests", "vitbias"):
        (project / folder).mkdir()
    make(project, "clean", "VENV=mine", "MODELS=mine")
    assert (project / "mine").is_dir()


PARTS = (
    "-m ruff check --quiet",
    "-m mypy --no-error-summary",
    "-m coverage run -m pytest --quiet --ignore-glob=*/test_press_* --ignore-glob=*/test_times.py",
    "-m coverage report",
    "-m pytest --quiet --nbval notebooks",
    "-m pytest --quiet tests/test_press_one.py tests/test_press_two.py",
    "-m pytest --quiet tests/test_times.py",
)
# stands for the environment's Python: says how it is called, and fails where it is told to
SAYING = f"""#!/bin/sh
case "$*" in -c*|*press.environment*|*press.models*) exec {sys.executable} "$@";; esac
echo "$@"
test "$*" != "$FAIL"
"""


@pytest.mark.parametrize("failing", [None, *PARTS])
def test_the_test_target_runs_every_part_and_fails_with_each(project, failing):
    (project / ".venv/bin").mkdir(parents=True)
    (project / "tests").mkdir()
    for name in ("library", "press_one", "press_two"):
        (project / f"tests/test_{name}.py").touch()
    program(project, "../.venv/bin/python", SAYING)
    done = make(project, "test", FAIL=failing or "")
    called = [line for line in done.stdout.splitlines() if line.startswith("-m ")]
    if failing is None:
        assert (done.returncode, sorted(called)) == (0, sorted(PARTS))
        assert called.index(PARTS[2]) < called.index(PARTS[3])
    else:
        assert done.returncode == 2
        assert failing in called
        # lint and types come before everything that takes long
        assert failing in PARTS[2:] or not set(called) & set(PARTS[2:])
