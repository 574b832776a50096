"""Make the environment of ``make test-models``: torch, timm and transformers, from a lock of their own.

The lock pins every package by digest, torch as the registry has it. For Linux that build brings CUDA: about
3 GB of downloads. A build for the CPU alone carries the label "+cpu" and is in no registry that the lock
could name; where pip's own settings lead to one of the locked version (a folder in PIP_FIND_LINKS, another
index), that one is installed and what only CUDA needs is left out. The lock cannot know its digest: it is
trusted as those settings are.
"""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from press.environment import LOCKED, EnvironmentFailure, install, main, say

__all__ = ["LOCK", "install_models", "without_torch"]

LOCK = "requirements-models.lock"
# packages that torch asks for in its build with CUDA alone
CUDA = ("cuda-", "nvidia-", "triton")
# the lock is complete, and the build for the CPU would not satisfy its entry of torch
EXACTLY = ("--no-deps", *LOCKED)


def install_models(root: Path, venv: Path) -> None:
    """The packages of the lock; torch as a CPU build where pip finds one, else one line about the size."""
    text = (root / LOCK).read_text(encoding="utf-8")
    version = re.findall(r"^torch==(\S+)", text, re.MULTILINE)[0]
    wanted = f"torch=={version}+cpu"
    try:
        alone = ("--no-deps", "--only-binary", ":all:", "--no-compile", wanted)
        install(root, venv, alone, wanted)
    except EnvironmentFailure:
        if sys.platform == "linux":
            python = ".".join(map(str, sys.version_info[:2]))
            say(
                f"pip finds no CPU build of torch {version} for CPython {python}; taking the one with CUDA:"
                " about 3 GB of downloads, 5 GB on disk (to avoid it, name a folder with a CPU build in"
                " PIP_FIND_LINKS)"
            )
        install(root, venv, (*EXACTLY, LOCK), f"the packages of {LOCK}")
        return
    say(f"{wanted} is what pip finds here; the digests of {LOCK} hold for all the rest")
    with TemporaryDirectory() as folder:
        rest = Path(folder) / LOCK
        rest.write_text(without_torch(text), encoding="utf-8")
        install(root, venv, (*EXACTLY, str(rest)), f"the packages of {LOCK}")


def without_torch(text: str) -> str:
    """The entries of a lock but for torch and what only its build with CUDA needs."""
    entries = re.split(r"\n(?=\S)", text.strip())
    kept = [entry for entry in entries if not entry.startswith(("torch==", *CUDA))]
    return "\n".join(kept) + "\n"


if __name__ == "__main__":
    sys.exit(main(lock=LOCK, packages=install_models))
