"""Sphinx extension: mends the blocks that sphinx-proof, sphinx-exercise and MyST leave untidy.

They give the inner part of every theorem, proof and exercise the same id, which nothing links to; they name
an equation without a label after a random UUID; and the word "Proof." is no title, only text.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

__all__ = ["mend", "setup"]

REPEATED_IDS = frozenset({"proof", "proof-content", "exercise-content", "solution-content"})
RANDOM_ID = re.compile(r"equation-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RUN_IN = "Proof. "


def mend(doctree: nodes.document) -> None:
    """Leave every id once and the same in every build, and mark the run-in titles; in place."""
    numbered: dict[str, str] = {}

    def stable(name: str) -> str:
        if not RANDOM_ID.fullmatch(name):
            return name
        return numbered.setdefault(name, f"equation-unlabelled-{len(numbered) + 1}")

    for node in doctree.findall(nodes.Element):
        if ids := node.get("ids"):
            # a section that the author called "Proof" has a title and keeps its id
            titled = any(isinstance(child, nodes.title) for child in node.children)
            node["ids"] = [stable(name) for name in ids if titled or name not in REPEATED_IDS]
        if "refid" in node:
            node["refid"] = stable(node["refid"])
    for block in list(doctree.findall(nodes.admonition)):
        if "proof" in block["classes"]:
            _mark_run_in(block)


def _mark_run_in(block: nodes.admonition) -> None:
    text = block.next_node(nodes.Text)
    if text is not None and text.startswith(RUN_IN):
        title = nodes.emphasis("", RUN_IN.strip(), classes=["run-in"])
        text.parent.replace(text, [title, nodes.Text(" " + text.removeprefix(RUN_IN))])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", lambda app, doctree, docname: mend(doctree))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
