"""Kernels that run alike everywhere: this interpreter, without the settings of whoever starts it."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from press.normal_form import Notebook, NotebookError, dump, normalise

__all__ = ["SECONDS_PER_CELL", "execute", "kernel_environment"]

SECONDS_PER_CELL = 120
DROPPED = {"MPLBACKEND", "PYTHONOPTIMIZE"}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FAILING_LINE = re.compile(r"^-+> *\d+ +(.+)$", re.MULTILINE)


class ThisInterpreter(KernelSpecManager):
    """Knows one kernel: the running Python, whatever kernels the user has installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


def kernel_environment(environ: Mapping[str, str], ipython_folder: str) -> dict[str, str]:
    """``environ`` as a kernel needs it.

    Without MPLBACKEND, which would turn figures off, and without PYTHONOPTIMIZE, which would turn
    asserts off; with an empty IPython folder instead of the user's, whose start-up files could change
    what is shown; and with every Python warning shown, so that it appears as output on stderr.
    """
    kept = {key: value for key, value in environ.items() if key not in DROPPED}
    return {**kept, "IPYTHONDIR": ipython_folder, "PYTHONWARNINGS": "default"}


def execute(nb: Notebook, name: str, folder: Path, environ: Mapping[str, str]) -> Notebook:
    """``nb`` with fresh outputs, in normal form; every cell has run in one new kernel in ``folder``.

    Raises
    ------
    NotebookError : a cell raised, took too long or ended its kernel; the message names the cell
    """
    node = nbformat.reads(dump(normalise(nb)), as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        node,
        km=AsyncKernelManager(kernel_spec_manager=ThisInterpreter()),
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        force_raise_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    with TemporaryDirectory() as scratch:
        # kernels announce on stderr that they listen without encryption
        quiet = {"env": kernel_environment(environ, scratch), "stderr": subprocess.DEVNULL}
        with client.setup_kernel(cleanup_kc=True, **quiet):
            count = 0
            for position, cell in enumerate(node.cells, start=1):
                count += cell.cell_type == "code"
                try:
                    # as nbval does it, without history
                    client.execute_cell(cell, position - 1, count, store_history=False)
                except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                    raise NotebookError(f"{name}, cell {position}: {_reason(error)}") from None
    return normalise(node)


def _reason(error: Exception) -> str:
    if isinstance(error, CellTimeoutError):
        return f"ran longer than {SECONDS_PER_CELL} seconds"
    if not isinstance(error, CellExecutionError):
        return "the kernel ended while the cell ran"
    line = FAILING_LINE.search(COLOUR.sub("", error.traceback))
    return f"{error.ename}: {error.evalue}" + (f"\n    {line[1].strip()}" if line else "")
