"""Put a finished folder in the place of another one in a single step."""

import ctypes
import errno
import os
from pathlib import Path

__all__ = ["restore", "swap"]

AT_FDCWD = -100
RENAME_EXCHANGE = 2
NOT_SUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def swap(new: Path, place: Path, aside: Path) -> None:
    """Put ``new`` in ``place``; nobody sees ``place`` missing or half of each.

    Where the system cannot exchange two folders in one step, two renames do it by way of ``aside``,
    from where ``restore`` brings the old folder back if the process is killed between the two.

    Raises
    ------
    OSError : ``place`` is what it was
    """
    if not os.path.lexists(place):
        os.rename(new, place)
    elif not _exchange(new, place):
        os.rename(place, aside)
        try:
            os.rename(new, place)
        except OSError:
            os.rename(aside, place)
            raise


def restore(aside: Path, place: Path) -> None:
    """Bring back to ``place`` what an interrupted ``swap`` left at ``aside``, if it did."""
    if aside.is_dir() and not os.path.lexists(place):
        os.rename(aside, place)


def _exchange(first: Path, second: Path) -> bool:
    """True if the two have changed names; False if this system cannot do it in one step."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    paths = os.fsencode(first), os.fsencode(second)
    if rename(AT_FDCWD, paths[0], AT_FDCWD, paths[1], RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in NOT_SUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(first), None, str(second))
