"""``import vitbias`` is nearly free, and the heavy packages stay out until they are needed."""

import json
import subprocess
import sys

import pytest

import vitbias

MOST_SECONDS = 0.15
RUNS = 3
HEAVY = ("sympy", "flint", "matplotlib", "IPython", "PIL")
TIMED = "from time import perf_counter as t; a = t(); import {}; print(t() - a)"
LOADED = "import {}, sys, json; print(json.dumps([n.split('.')[0] for n in sys.modules]))"


def fresh(code):
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def seconds(module):
    return min(float(fresh(TIMED.format(module))) for _ in range(RUNS))


def loaded(module):
    return set(json.loads(fresh(LOADED.format(module))))


def test_import_costs_hardly_more_than_numpy():
    assert seconds("vitbias") <= seconds("numpy") + MOST_SECONDS


def test_import_loads_nothing_else():
    assert loaded("vitbias") - loaded("importlib") <= {"vitbias"}


def test_the_lower_floors_load_no_heavy_package():
    rooms = "formula formatting patches interface lattice attention exact_attention symmetry vit"
    packages = loaded(", ".join(f"vitbias.{room}" for room in rooms.split()))
    assert {"numpy", "einops"} <= packages
    assert packages.isdisjoint(HEAVY)


def test_work_without_symbols_loads_no_sympy():
    work = (
        "vitbias.patches as p, vitbias.interface as i, vitbias.rank as r, vitbias.formatting as f; "
        "p.token_count(224, 224, 16); i.min_nullity(768, 192); r.exact_rank([[1, 2]]); f.fmt([1, 2.5]); "
        "import os"
    )
    packages = loaded(work)
    assert "flint" in packages
    assert "sympy" not in packages


def test_modules_are_attributes_and_listed():
    code = "vitbias; assert vitbias.patches.token_count(6, 4, 2) == 6; import os"
    assert {"vitbias", "numpy"} <= loaded(code)
    assert set(vitbias.__all__) <= set(dir(vitbias))
    assert dir(vitbias) == sorted(dir(vitbias))
    assert "__version__" in dir(vitbias)
    assert vitbias.errors is sys.modules["vitbias.errors"]
    with pytest.raises(AttributeError, match=r"^module 'vitbias' has no attribute 'patchs'$"):
        _ = vitbias.patchs
