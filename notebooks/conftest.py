"""What every re-execution has in common, also that by the plain `pytest --nbval notebooks`."""

import os
import sys
from tempfile import TemporaryDirectory

import pytest
from nbval.plugin import IPyNbFile

from press.kernels import kernel_environment

# The drawing is compared through the digest of its data, which stands in the text beside it: SVG
# differs between versions of matplotlib. nbval would also skip pictures and the outputs' metadata
# (captions); those are compared here.
SKIPPED = ("execution_count", "image/svg+xml", "name", "output_type", "prompt_number", "traceback")


def pytest_configure(config: pytest.Config) -> None:
    if sys.flags.optimize or os.environ.get("PYTHONOPTIMIZE", "0") not in ("", "0"):
        raise pytest.UsageError("asserts are off: run without -O and without PYTHONOPTIMIZE")
    scratch, before = TemporaryDirectory(), dict(os.environ)
    _replace_environment(kernel_environment(before, scratch.name))
    config.add_cleanup(scratch.cleanup)
    config.add_cleanup(lambda: _replace_environment(before))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item.parent, IPyNbFile):
            item.parent.skip_compare = SKIPPED


def _replace_environment(environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
