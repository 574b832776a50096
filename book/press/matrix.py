"""``make test-matrix``: are the stored outputs those of other settings too, one change at a time?

Sums of floats depend on the number of BLAS threads and on the processor's vector instructions, the
order of sets on the hash seed. Every setting re-executes all notebooks under strict nbval.
The BLAS kernel (OPENBLAS_CORETYPE) stays as the machine sets it.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from vitbias.formatting import table

__all__ = ["Outcome", "Setting", "main", "outcome", "report", "run", "settings"]

ROOT = Path(__file__).resolve().parents[2]
BASELINE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
SIMD = "NPY_DISABLE_CPU_FEATURES"
# what NumPy was built to choose at run time, and what of it this process uses
FEATURES = (
    "from numpy._core._multiarray_umath import __cpu_dispatch__ as built, __cpu_features__ as used;"
    "print(*(name for name in built if used[name]))"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Setting:
    """Environment variables that differ from the baseline; ``missing`` says why it cannot run here."""

    name: str
    changes: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """``environ`` with the baseline and this one change, and without other values of these."""
        return {key: environ[key] for key in environ if key != SIMD} | BASELINE | dict(self.changes)


@dataclass(frozen=True)
class Outcome:
    """What one run of nbval found: cells that were compared, and a text for each that failed."""

    cells: int
    failures: tuple[str, ...]


def settings(features: Sequence[str], cores: int) -> list[Setting]:
    """The settings, for a machine with these vector instructions and this number of cores."""
    two = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    return [
        Setting("baseline: 1 BLAS thread, hash seed 0"),
        Setting("2 BLAS threads", two, "" if cores > 1 else "one core"),
        Setting(
            f"without SIMD dispatch ({' '.join(features)})"
            if features
            else "without SIMD dispatch",
            {SIMD: " ".join(features)},
            "" if features else "nothing to switch off",
        ),
        Setting("hash seed 1", {"PYTHONHASHSEED": "1"}),
        Setting("hash seed 2", {"PYTHONHASHSEED": "2"}),
    ]


def used_features(environ: Mapping[str, str]) -> list[str]:
    """The vector instructions that NumPy dispatches to in a process with this environment."""
    command = [sys.executable, "-c", FEATURES]
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, check=True
    ).stdout.split()


def run(setting: Setting, root: Path, environ: Mapping[str, str]) -> Outcome:
    """Re-execute the notebooks of ``root`` under one setting."""
    environ = setting.environment(environ)
    left = set(environ.get(SIMD, "").split()) & set(used_features(environ))
    if left:
        return Outcome(0, (f"NumPy still uses {' '.join(sorted(left))}",))
    with TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "--nbval", "notebooks", f"--junitxml={junit}"]
        command += ["-p", "no:cacheprovider", "--color=no"]
        done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True)
        found = outcome(junit.read_text("utf-8")) if junit.exists() else Outcome(0, ())
    if done.returncode and not found.failures:
        return Outcome(found.cells, ((done.stderr or done.stdout).strip()[-2000:],))
    if not found.cells:
        return Outcome(0, ("no cell was compared",))
    return found


def outcome(junit: str) -> Outcome:
    """Count the cells in a JUnit report; a cell that was skipped was not compared and has failed."""
    cases = list(ElementTree.fromstring(junit).iter("testcase"))
    failures = []
    for case in cases:
        for kind in ("failure", "error", "skipped"):
            for fault in case.findall(kind):
                said = COLOUR.sub("", fault.text or fault.get("message") or kind).strip()
                failures.append(f"{case.get('classname')} {case.get('name')}\n{said}")
    return Outcome(len(cases), tuple(failures))


def report(rows: Iterable[tuple[Setting, Outcome | None, float]]) -> tuple[str, int]:
    """The table with its closing line, and the number of settings that failed."""
    lines: list[list[object]] = []
    passed = failed = 0
    for setting, found, seconds in rows:
        if found is None:
            lines.append([setting.name, f"not run: {setting.missing}", "-", "-"])
            continue
        passed += not found.failures
        failed += bool(found.failures)
        lines.append([setting.name, str(found.cells), str(len(found.failures)), f"{seconds:.0f}"])
    shown = table(["setting", "cells compared", "failures", "seconds"], lines)
    return f"{shown}\n{passed} passed, {failed} failed", failed


def main(root: Path = ROOT) -> int:
    """Run every setting that this machine can; 0 if no cell differs anywhere, otherwise 1."""
    plain = Setting("").environment(os.environ)
    rows: list[tuple[Setting, Outcome | None, float]] = []
    for setting in settings(used_features(plain), _cores()):
        start = time.monotonic()
        found = None if setting.missing else run(setting, root, os.environ)
        rows.append((setting, found, time.monotonic() - start))
        for failure in found.failures if found else ():
            print(f"{setting.name}: {failure}\n", flush=True)
        print(f"{setting.name}: done" if found else f"{setting.name}: not run", flush=True)
    shown, failed = report(rows)
    print(f"\n{shown}")
    return int(bool(failed))


def _cores() -> int:
    """The cores that this process may use; where the system does not say, those of the machine."""
    may_use = getattr(os, "sched_getaffinity", None)
    return len(may_use(0)) if may_use else os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
