"""The exit status of ``make book``, and the error that carries one."""

__all__ = ["BUSY", "ENVIRONMENT", "INTERRUPTED", "TERMINATED", "TO_MEND", "BuildError"]

TO_MEND = 1
ENVIRONMENT = 3
BUSY = 75
INTERRUPTED = 130
TERMINATED = 143


class BuildError(Exception):
    """The build did not come to an end; the previous site is untouched.

    status : the exit status
    lines : what to tell, the first line says what happened
    """

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("\n  ".join(lines))
        self.status = status
