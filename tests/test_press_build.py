"""`make book`: a site is put in place whole and checked, or the previous one stays."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from press import build, pages, swap
from press.build import main
from press.devtools import BrowserError
from press.figure_files import figure_files
from press.freshness import digests, provenance_path
from press.normal_form import dump, normalise
from press.stamp import inputs_digest, is_current, write_stamp
from press.status import BUSY, ENVIRONMENT, INTERRUPTED, TERMINATED, TO_MEND, BuildError

HOUSE = Path(build.__file__).parents[2]
FIRST = """# First

\\begin{equation}
a = b
\\end{equation}
"""
PAGE = '<html lang="en"><h1>{}</h1></html>'


@pytest.fixture(autouse=True)
def no_browser(monkeypatch):
    monkeypatch.setattr(build, "find_browser", lambda: None)
    for name in ("CI", "VITBIAS_REQUIRE_BROWSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def book(tmp_path):
    """The smallest book that Jupyter Book builds, in a folder with a space in its name."""
    root = tmp_path / "a book"
    root.mkdir()
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
    (root / "_config.yml").write_text(
        "title: Book\nonly_build_toc_files: true\nexecute: {execute_notebooks: 'off'}\n"
        "parse: {myst_enable_extensions: [amsmath, dollarmath]}\n"
        f"sphinx:\n  local_extensions: {{press.blocks: '{HOUSE}/book'}}\n"
        "  config:\n    html_context: {default_mode: auto}\n"
        "    extensions: [myst_nb, jupyter_book, sphinx_external_toc, sphinx_book_theme,"
        " sphinx_comments, press.blocks, press.mathjax]\n",
        encoding="utf-8",
    )
    (root / "index.md").write_text(FIRST, encoding="utf-8")
    return root


@pytest.fixture
def quick(monkeypatch, book):
    """The same without Jupyter Book: the page is made from the page's source."""

    def make_pages(root, folder, lock):
        text = (root / "_config.yml").read_text(encoding="utf-8").partition("\n")[0]
        (folder / "html").mkdir()
        (folder / "html/index.html").write_text(PAGE.format(text), encoding="utf-8")
        return folder / "html"

    monkeypatch.setattr(build, "make_pages", make_pages)
    return book


def site_of(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / "_build/html").rglob("*")
        if path.is_file()
    }


def left_over(root):
    return [path.name for path in (root / "_build").iterdir() if path.name.startswith("new-")]


def edit(root, text):
    (root / "_config.yml").write_text(text, encoding="utf-8")


def test_a_failed_build_stays_red_and_leaves_the_site(book, capfd):
    assert main([str(book)]) == 0
    before = site_of(book)
    assert b"First" in before["_build/html/index.html"]
    (book / "index.md").write_text("# Second\n\n{ref}`nowhere`\n", encoding="utf-8")
    for _ in range(2):
        capfd.readouterr()
        assert main([str(book)]) == TO_MEND
        said = capfd.readouterr().err.splitlines()
        assert said[0] == "make book: the pages have errors; the previous site stays:"
        assert said[1:] == ["  index.md:3: WARNING: undefined label: 'nowhere'"]
        assert site_of(book) == before
        assert left_over(book) == []


def test_broken_settings_are_told(book, capfd):
    edit(book, "title: [\n")
    assert main([str(book)]) == TO_MEND
    said = capfd.readouterr().err.splitlines()
    assert said[1].startswith("  yaml.parser.ParserError: while parsing a flow node")


def test_nothing_is_done_twice(quick, capsys):
    assert main([str(quick)]) == 0
    assert main([str(quick)]) == 0
    assert "up to date" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("change", ["source", "page", "extra page"])
def test_a_changed_source_or_site_is_built_again(quick, change, capsys):
    main([str(quick)])
    page = quick / "_build/html/index.html"
    if change == "source":
        edit(quick, "other\n")
    elif change == "page":
        page.write_text("damaged", encoding="utf-8")
    else:
        page.with_name("old.html").write_text(PAGE.format("old"), encoding="utf-8")
    capsys.readouterr()
    assert main([str(quick)]) == 0
    assert "up to date" not in capsys.readouterr().out
    assert sorted(site_of(quick)) == ["_build/html/.stamp.json", "_build/html/index.html"]


def test_findings_leave_the_site(quick, monkeypatch, capsys):
    main([str(quick)])
    before = site_of(quick)
    edit(quick, "other\n")
    monkeypatch.setattr(build.check, "check", lambda site, root: ["index.html: dead link: x"])
    assert main([str(quick)]) == TO_MEND
    assert capsys.readouterr().err.splitlines()[1:] == ["  index.html: dead link: x"]
    assert site_of(quick) == before
    assert left_over(quick) == []


def test_old_outputs_are_refused_by_name(quick, monkeypatch, capsys):
    monkeypatch.setattr(build, "stale", lambda root: ["05_patch: its code has changed."])
    assert main([str(quick)]) == TO_MEND
    said = capsys.readouterr().err
    assert "make notebooks" in said
    assert "05_patch: its code has changed." in said
    assert not (quick / "_build").exists()


SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 0 h 7"/></svg>'


def write_notebooks(root, *names, source="assert 2 + 3 == 5"):
    """Fresh notebooks, each with one figure of the same name."""
    folder = root / "notebooks"
    (folder / "figures").mkdir(parents=True)
    entries = {}
    for name in names:
        text = f"A line of {name} that is level."
        digest = sha256(b"x\n7\n").hexdigest()[:16]
        figure = {
            "output_type": "display_data",
            "data": {
                "image/svg+xml": SVG,
                "text/csv": "x\n7\n",
                "text/plain": f"fig-line: {text} [data sha256 {digest}]",
            },
            "metadata": {
                "vitbias": {"name": "fig-line", "alt": text, "caption": "A line.", "kind": "chart"}
            },
        }
        cell = {"cell_type": "code", "metadata": {}, "source": source}
        nb = normalise({"cells": [{**cell, "execution_count": 1, "outputs": [figure]}]})
        (folder / f"{name}.ipynb").write_text(dump(nb), encoding="utf-8")
        for file, content in figure_files(nb).items():
            (folder / "figures" / file).write_bytes(content)
        entries[name] = digests(nb, root)
    provenance_path(root).write_text(dump(entries), encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("rule", "05_patch: the notebook asserts nothing."),
        ("clash", "05_patch, 07_token: the figure name 'fig-line' is used 2 times."),
        ("file", "figures/fig-old.svg: no notebook makes this file."),
    ],
)
def test_notebooks_that_break_a_rule_are_refused(quick, capsys, fault, said):
    names = ["05_patch", "07_token"] if fault == "clash" else ["05_patch"]
    write_notebooks(quick, *names, source="2 + 3" if fault == "rule" else "assert 2 + 3 == 5")
    old = quick / "notebooks/figures/fig-old.svg"
    if fault == "file":
        old.write_text(SVG, encoding="utf-8")
    assert main([str(quick)]) == TO_MEND
    assert capsys.readouterr().err.splitlines() == [
        "make book: 1 findings in the notebooks; the previous site stays:",
        f"  {said}",
    ]
    assert not (quick / "_build").exists()
    if fault == "file":
        old.unlink()
        assert main([str(quick)]) == 0


def test_a_build_within_a_build_is_busy(quick, monkeypatch):
    """The lock is exclusive from the first to the last step."""
    inner = []
    monkeypatch.setattr(build.check, "check", lambda *_: inner.append(main([str(quick)])) or [])
    assert main([str(quick)]) == 0
    assert inner == [BUSY]


def test_a_file_that_changes_meanwhile_is_noticed(quick, monkeypatch, capsys):
    monkeypatch.setattr(build.check, "check", lambda site, root: edit(root, "late\n") or [])
    assert main([str(quick)]) == TO_MEND
    assert "changed during the build" in capsys.readouterr().err
    assert not (quick / "_build/html").exists()


def test_two_builds_at_once_cannot_mix(quick, capsys):
    (quick / "_build").mkdir()
    with (quick / "_build/.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main([str(quick)]) == BUSY
        assert capsys.readouterr().err.count("\n") == 1
        assert os.listdir(quick / "_build") == [".lock"]
    assert main([str(quick)]) == 0


def test_without_a_browser_one_line_says_so(quick, monkeypatch, capsys):
    assert main([str(quick)]) == 0
    assert "do not run: no chromium" in capsys.readouterr().out
    for name, value in (("CI", "true"), ("VITBIAS_REQUIRE_BROWSER", "1")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert main([str(quick)]) == ENVIRONMENT
            assert "are required" in capsys.readouterr().err


def test_with_a_browser_its_findings_count(quick, monkeypatch, capsys):
    assert main([str(quick)]) == 0
    monkeypatch.setattr(build, "find_browser", lambda: "/bin/chromium")
    monkeypatch.setattr(build.browser, "check", lambda site, command: [f"{command}: script error"])
    assert main([str(quick)]) == TO_MEND
    assert "/bin/chromium: script error" in capsys.readouterr().err

    def broken(site, command):
        raise BrowserError("no answer")

    monkeypatch.setattr(build.browser, "check", broken)
    assert main([str(quick)]) == ENVIRONMENT


def test_a_full_disk_is_one_line(quick, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "make_pages", full)
    assert main([str(quick)]) == ENVIRONMENT
    assert capsys.readouterr().err == "make book: [Errno 28] No space left on device\n"
    assert left_over(quick) == []


BLOCKED = """
import sys, time
from press import build
def make_pages(root, folder, lock):
    (folder / "half").write_text("page")
    print("half", flush=True)
    time.sleep(60)
build.find_browser = lambda: None
build.make_pages = make_pages
sys.exit(build.main([sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("number", "status", "left"),
    [
        (signal.SIGINT, INTERRUPTED, 0),
        (signal.SIGTERM, TERMINATED, 0),
        (signal.SIGKILL, -signal.SIGKILL, 1),
    ],
)
def test_an_ended_build_leaves_the_site_and_the_next_one_cleans_up(quick, number, status, left):
    assert main([str(quick)]) == 0
    before = site_of(quick)
    edit(quick, "other\n")
    with subprocess.Popen(
        [sys.executable, "-c", BLOCKED, str(quick)],
        env=os.environ | {"PYTHONPATH": str(HOUSE / "book")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        while process.stdout.readline() not in {"half\n", ""}:
            pass
        process.send_signal(number)
        assert process.wait(20) == status
    assert site_of(quick) == before
    assert len(left_over(quick)) == left
    assert main([str(quick)]) == 0
    assert left_over(quick) == []
    assert b"other" in site_of(quick)["_build/html/index.html"]


def test_a_build_that_does_not_end_is_ended(book, monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "JUPYTER_BOOK", "import time; time.sleep(60)")
    monkeypatch.setattr(pages, "MOST_SECONDS", 0.3)
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(BuildError, match=r"no end of the build after 0.3 s"):
            pages.make_pages(book, tmp_path, file.fileno())
    # nobody holds the lock: the process that inherited it is gone
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_missing_jupyter_book_is_one_line(book, monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match="not installed") as caught:
        pages.make_pages(book, tmp_path, 0)
    assert caught.value.status == ENVIRONMENT


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (
            "=====\n\x1b[91ma.md:3: WARNING: x\x1b[39;49;00m\nnoise\na.md:3: WARNING: x\n",
            ["a.md:3: WARNING: x"],
        ),
        (
            "Extension error:\nMathJax: differs\nTraceback (most recent call last):\n  File\n",
            ["Extension error:", "MathJax: differs"],
        ),
        ("Running Jupyter-Book v1\n\nyaml is wrong\n", ["yaml is wrong"]),
        (
            "Traceback (most recent call last):\n  File x\nKeyError: 1\n\nDuring another:\n\n"
            "Traceback (most recent call last):\n  File y\n    f()\n    ^^^\n"
            "ParserError: a node\n  in line 2:\n    ^\n",
            ["ParserError: a node", "in line 2:"],
        ),
    ],
)
def test_the_essence_of_a_log(log, shown):
    assert pages._essence(log) == shown


def folders(tmp_path):
    for name in ("new", "place"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text(name)
    return tmp_path / "new", tmp_path / "place", tmp_path / "aside"


@pytest.mark.parametrize("in_one_step", [True, False])
def test_swap(tmp_path, monkeypatch, in_one_step):
    if not in_one_step:
        monkeypatch.setattr(swap, "_exchange", lambda *_: False)
    new, place, aside = folders(tmp_path)
    swap.swap(new, place, aside)
    assert os.listdir(place) == ["new"]
    assert os.listdir(new if in_one_step else aside) == ["place"]


def test_swap_into_nothing(tmp_path):
    new, _, aside = folders(tmp_path)
    swap.swap(new, tmp_path / "nothing", aside)
    assert os.listdir(tmp_path / "nothing") == ["new"]


def test_a_swap_that_fails_changes_nothing(tmp_path, monkeypatch):
    _, place, aside = folders(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        swap.swap(tmp_path / "none", place, aside)
    monkeypatch.setattr(swap, "_exchange", lambda *_: False)
    with pytest.raises(OSError, match="No such file"):
        swap.swap(tmp_path / "none", place, aside)
    assert os.listdir(place) == ["place"]


def test_a_build_killed_between_two_renames_is_brought_back(quick, monkeypatch):
    assert main([str(quick)]) == 0
    before = site_of(quick)
    (quick / "_build/new-killed").mkdir()
    os.rename(quick / "_build/html", quick / "_build/new-killed" / build.ASIDE)
    # the next build fails, so that the site can only come from what was left
    edit(quick, "other\n")
    monkeypatch.setattr(build.check, "check", lambda site, root: ["index.html: dead link: x"])
    assert main([str(quick)]) == TO_MEND
    assert site_of(quick) == before
    assert left_over(quick) == []


def test_the_digest_of_the_inputs(tmp_path):
    source = tmp_path / "book/press/build.py"
    source.parent.mkdir(parents=True)
    source.write_text("one")
    first = inputs_digest(tmp_path, "browser: True")
    assert inputs_digest(tmp_path, "browser: False") != first
    (source.parent / "__pycache__").mkdir()
    (source.parent / "__pycache__/build.pyc").write_text("x")
    (tmp_path / ".coverage").write_text("x")
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build/x").write_text("x")
    assert inputs_digest(tmp_path, "browser: True") == first
    source.rename(source.with_name("other.py"))
    assert inputs_digest(tmp_path, "browser: True") != first


@pytest.mark.parametrize("stamp", [None, "", "[]", json.dumps({"inputs": "other"})])
def test_without_its_stamp_no_site_is_current(tmp_path, stamp):
    write_stamp(tmp_path, "inputs")
    assert is_current(tmp_path, "inputs")
    (tmp_path / ".stamp.json").unlink()
    if stamp is not None:
        (tmp_path / ".stamp.json").write_text(stamp)
    assert not is_current(tmp_path, "inputs")


def test_two_builds_are_equal_byte_by_byte(book, monkeypatch, tmp_path):
    """In two folders, with other hash seeds, time zones and languages."""
    sites = []
    for name, environment in (
        ("one", {"PYTHONHASHSEED": "1", "TZ": "Asia/Shanghai", "LC_ALL": "C"}),
        ("two", {"PYTHONHASHSEED": "2", "TZ": "UTC", "LC_ALL": "C.UTF-8"}),
    ):
        root = tmp_path / name
        shutil.copytree(book, root)
        (root / "out").mkdir()
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        with (tmp_path / "lock").open("w") as file:
            html = pages.make_pages(root, root / "out", file.fileno())
        sites.append(
            {
                path.relative_to(html): path.read_bytes()
                for path in html.rglob("*")
                if path.is_file()
            }
        )
    assert sites[0] == sites[1]
