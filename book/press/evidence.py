"""Claims and the cells that execute them.

A claim is a block of MyST with a label; a cell that belongs to it carries the comment ``# claim LABEL``.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from press.normal_form import Notebook, text

__all__ = ["COMPARED", "asserts", "claim_faults", "comment_faults"]

# output types that a re-execution compares as text
COMPARED = {"text/csv", "text/latex", "text/markdown", "text/plain"}
KINDS = "corollary|definition|example|lemma|observation|proposition|theorem"
BLOCK = re.compile(
    rf"^(?::{{3,}}|`{{3,}})\{{prf:(?P<kind>{KINDS})\}}.*\n(?P<options>(?::[\w-]+:.*(?:\n|$))*)",
    re.MULTILINE,
)
LABEL = re.compile(r"^:label:\s*(\S+)\s*$", re.MULTILINE)
COMMENT = re.compile(r"^# claim (\S+)$", re.MULTILINE)
ALMOST = re.compile(r"^[ \t]*#[ \t]*claims?\b.*$", re.MULTILINE | re.IGNORECASE)


def asserts(cell: dict[str, Any]) -> bool:
    """True if the cell is code that asserts something."""
    if cell["cell_type"] != "code":
        return False
    try:
        tree = ast.parse(text(cell["source"]))
    except SyntaxError:  # a fault of its own, which the guards report
        return False
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def comment_faults(source: str) -> Iterator[str]:
    """One sentence for each comment that is meant to name a claim and does not."""
    for comment in ALMOST.findall(source):
        if not COMMENT.fullmatch(comment):
            yield f"{comment.strip()!r} must read '# claim LABEL', from the first column"


def claim_faults(nb: Notebook) -> Iterator[str]:
    """Claims without evidence, and evidence without a claim; to be written after the name."""
    evidence: dict[str, list[dict[str, Any]]] = {}
    for position, cell in enumerate(nb["cells"], start=1):
        blocks = BLOCK.finditer(text(cell["source"])) if cell["cell_type"] == "markdown" else ()
        for block in blocks:
            label = LABEL.search(block["options"])
            if label:
                evidence[label[1]] = []
            else:
                yield f", cell {position}: a {block['kind']} has no label"
    for position, cell in enumerate(nb["cells"], start=1):
        labels = COMMENT.findall(text(cell["source"])) if cell["cell_type"] == "code" else ()
        for name in labels:
            if name in evidence:
                evidence[name].append(cell)
            else:
                yield f", cell {position}: there is no claim with the label {name}"
    for name, cells in evidence.items():
        if not any(asserts(cell) for cell in cells):
            yield f": no cell with '# claim {name}' asserts anything"
        if not any(_is_compared(output) for cell in cells for output in cell["outputs"]):
            yield f": no cell with '# claim {name}' has an output that is compared"


def _is_compared(output: dict[str, Any]) -> bool:
    if "text" in output:
        return bool(text(output["text"]).strip())
    return bool(COMPARED & set(output.get("data", ())))
