"""Make or reuse the virtual environment in which everything runs; standard library only.

The environment is ready when its stamp says so, and the stamp is written last. It names the lock, the
interpreter, this folder (an editable installation holds its path) and pyproject.toml. Where only the last
differs, the library alone is installed again; anything else means a new environment, so that nothing of an
interrupted or an older installation stays.
"""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from press.status import ENVIRONMENT, INTERRUPTED

__all__ = ["LOCKED", "EnvironmentFailure", "install", "install_locked", "main", "prepare", "say"]

STAMP = ".ready"
LOCK = "requirements.lock"
PROJECT = "pyproject.toml"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet")
# byte code is written when a module is first used; most never are
LOCKED = ("--require-hashes", "--only-binary", ":all:", "--no-compile", "-r")
LIBRARY = ("--no-deps", "--no-build-isolation", "--no-compile", "-e", ".")
SHOWN_LINES = 15


class EnvironmentFailure(Exception):
    """The environment could not be made; the message says why and what to do."""


def install_locked(root: Path, venv: Path) -> None:
    """Everything of the lock, from the registry."""
    install(root, venv, (*LOCKED, LOCK), f"the packages of {LOCK}")


def prepare(
    root: Path,
    venv: Path,
    *,
    exactly: bool = False,
    lock: str = LOCK,
    packages: Callable[[Path, Path], None] = install_locked,
) -> bool:
    """Bring the environment ``venv`` of the repository ``root`` up to date.

    Parameters
    ----------
    exactly : it must have the version of the running interpreter; otherwise one that works stays
    lock : the file that pins its packages, and ``packages(root, venv)`` installs them

    Returns
    -------
    True if something had to be installed

    Raises
    ------
    EnvironmentFailure
    """
    with _alone(root):
        current = _read_stamp(venv)
        version = _version(venv)
        kept = version == current.get("python", "")
        wanted = {
            "lock": _digest(root / lock),
            "python": version if kept and not exactly else sys.version,
            "root": str(root),
            "project": _digest(root / PROJECT),
        }
        if kept and current == wanted:
            return False
        (venv / STAMP).unlink(missing_ok=True)
        if not kept or current | {"project": wanted["project"]} != wanted:
            _create(root, venv)
            packages(root, venv)
        install(root, venv, LIBRARY, "the library")
        _write_stamp(venv, wanted)
        return True


def main(
    arguments: Sequence[str] | None = None,
    *,
    lock: str = LOCK,
    packages: Callable[[Path, Path], None] = install_locked,
) -> int:
    """Command line: ``python -m press.environment VENV [--exactly]``; returns the exit status."""
    parser = argparse.ArgumentParser(prog="press.environment", description=__doc__)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--exactly", action="store_true", help="of this interpreter's version")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        exactly = options.exactly
        if prepare(Path.cwd(), options.venv, exactly=exactly, lock=lock, packages=packages):
            say(f"{options.venv} is ready after {time.monotonic() - started:.0f} s")
    except (EnvironmentFailure, OSError) as error:
        print(f"environment: {error}", file=sys.stderr)
        return ENVIRONMENT
    except KeyboardInterrupt:
        print("environment: interrupted; the next call starts afresh", file=sys.stderr)
        return INTERRUPTED
    return 0


def say(line: str) -> None:
    """One line on the terminal, at once."""
    print(f"environment: {line}", flush=True)


def install(root: Path, venv: Path, arguments: Sequence[str], what: str) -> None:
    """``pip install`` with these arguments.

    Raises
    ------
    EnvironmentFailure : with pip's last lines
    """
    _run(root, [str(_python(venv)), *PIP, *arguments], f"install {what}")


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _python(venv: Path) -> Path:
    return venv.absolute() / "bin" / "python"


def _version(venv: Path) -> str:
    """The whole version of the environment's interpreter; "none" if it does not run."""
    command = [str(_python(venv)), "-c", "import sys; print(sys.version, end='')"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "none"
    return done.stdout


def _read_stamp(venv: Path) -> dict[str, str]:
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _write_stamp(venv: Path, stamp: dict[str, str]) -> None:
    new = venv / f"{STAMP}.new"
    new.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    os.replace(new, venv / STAMP)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Two calls at once: the second waits until the first has installed."""
    with (root / LOCK).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _create(root: Path, venv: Path) -> None:
    if venv.exists() and not (venv / "pyvenv.cfg").is_file() and any(venv.iterdir()):
        raise EnvironmentFailure(
            f"{venv} is not a virtual environment and is left alone; name another folder: VENV=…"
        )
    say(f"making {venv} with CPython {sys.version.split()[0]}; this takes a minute or two")
    # inside an environment that is about to be cleared, this is the interpreter it was made with
    base = getattr(sys, "_base_executable", sys.executable)
    _run(root, [base, "-m", "venv", "--clear", str(venv)], "make a virtual environment")


def _run(root: Path, command: list[str], purpose: str) -> None:
    done = subprocess.run(
        command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-SHOWN_LINES:]
        raise EnvironmentFailure("\n  ".join([f"cannot {purpose}:", *said]))


if __name__ == "__main__":
    sys.exit(main())
