"""The locks: every package with its digests, bound to no machine, and all that pyproject.toml asks for."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOUSE = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
FILES = ("requirements.lock", "requirements-models.lock")
TEXTS = {name: (HOUSE / name).read_text(encoding="utf-8") for name in FILES}
ENTRIES = {name: text.replace("\\\n", " ").splitlines() for name, text in TEXTS.items()}


def parts(entry):
    """Requirement and digests of one entry."""
    requirement, *digests = entry.split(" --hash=")
    return Requirement(requirement), [digest.strip() for digest in digests]


ALL_LOCKED = {
    name: {canonicalize_name(parts(entry)[0].name): parts(entry)[0] for entry in entries}
    for name, entries in ENTRIES.items()
}
LOCKED, MODELS = (ALL_LOCKED[name] for name in FILES)


def version(requirement):
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


def asked():
    """What pyproject.toml asks for and which lock has it; the extra ``models`` has one of its own."""
    project = PROJECT["project"]
    always = [*project["dependencies"], *PROJECT["build-system"]["requires"]]
    extras = dict(project["optional-dependencies"])
    models = [*always, *extras.pop("models"), *extras["build"]]
    texts = [*always, *(text for extra in extras.values() for text in extra)]
    asking = zip(FILES, (texts, models), strict=True)
    found = [(name, Requirement(text)) for name, group in asking for text in group]
    return [(name, wanted) for name, wanted in found if wanted.name != project["name"]]


@pytest.mark.parametrize("name", FILES)
def test_every_entry_has_one_version_and_digests(name):
    assert len(ENTRIES[name]) > 50
    for entry in ENTRIES[name]:
        requirement, digests = parts(entry)
        assert re.fullmatch(r"[\w.!]+", version(requirement)), entry
        assert digests, requirement
        for digest in digests:
            assert re.fullmatch("sha256:[0-9a-f]{64}", digest), requirement


@pytest.mark.parametrize("name", FILES)
def test_no_package_twice(name):
    assert len(ALL_LOCKED[name]) == len(ENTRIES[name])


def test_the_locks_agree_and_only_one_has_torch():
    shared = set(LOCKED) & set(MODELS)
    assert {"numpy", "sympy", "einops", "pytest", "hypothesis", "flit-core"} <= shared
    assert {name for name in shared if LOCKED[name].specifier != MODELS[name].specifier} == set()
    assert set(MODELS) >= {"torch", "timm", "transformers"}
    assert not set(LOCKED) & {"torch", "torchvision", "timm", "transformers"}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "word",
    [
        "://",
        "--index",
        "--extra-index",
        "--find-links",
        "--trusted-host",
        "-e ",
        " @ ",
        "file:",
        "+cpu",
        ".whl",
    ],
)
def test_nothing_ties_the_locks_to_a_machine(word, name):
    assert word not in TEXTS[name]


@pytest.mark.parametrize(("name", "requirement"), asked(), ids=str)
def test_what_the_project_asks_for_is_locked(name, requirement):
    locked = ALL_LOCKED[name][canonicalize_name(requirement.name)]
    assert locked.marker is None
    assert requirement.specifier.contains(version(locked))


def test_what_runs_is_what_is_locked():
    """What is locked is installed in that version, and what it requires is locked too."""
    environment = default_environment() | {"extra": ""}
    installed = {canonicalize_name(found.name): found for found in distributions()}
    for name, locked in LOCKED.items():
        if locked.marker and not locked.marker.evaluate():
            continue
        assert installed[name].version == version(locked)
        for text in installed[name].requires or []:
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate(environment):
                continue
            required = LOCKED[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version(required), prereleases=True), text
