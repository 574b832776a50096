"""The lock: every package with its digests, bound to no machine, and all that pyproject.toml asks for."""

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
TEXT = (HOUSE / "requirements.lock").read_text(encoding="utf-8")
ENTRIES = TEXT.replace("\\\n", " ").splitlines()


def parts(entry):
    """Requirement and digests of one entry."""
    requirement, *digests = entry.split(" --hash=")
    return Requirement(requirement), [digest.strip() for digest in digests]


LOCKED = {canonicalize_name(parts(entry)[0].name): parts(entry)[0] for entry in ENTRIES}


def version(requirement):
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


def asked():
    """What pyproject.toml asks for: dependencies, every extra, the build backend."""
    project = PROJECT["project"]
    texts = [*project["dependencies"], *PROJECT["build-system"]["requires"]]
    texts += [text for extra in project["optional-dependencies"].values() for text in extra]
    requirements = [Requirement(text) for text in texts]
    return [found for found in requirements if found.name != project["name"]]


def test_every_entry_has_one_version_and_digests():
    assert len(ENTRIES) > 100
    for entry in ENTRIES:
        requirement, digests = parts(entry)
        assert re.fullmatch(r"[\w.!]+", version(requirement)), entry
        assert digests, requirement
        for digest in digests:
            assert re.fullmatch("sha256:[0-9a-f]{64}", digest), requirement


def test_no_package_twice():
    assert len(LOCKED) == len(ENTRIES)


@pytest.mark.parametrize(
    "word",
    ["://", "--index", "--extra-index", "--find-links", "--trusted-host", "-e ", " @ ", "file:"],
)
def test_nothing_ties_the_lock_to_a_machine(word):
    assert word not in TEXT


@pytest.mark.parametrize("requirement", asked(), ids=str)
def test_what_the_project_asks_for_is_locked(requirement):
    locked = LOCKED[canonicalize_name(requirement.name)]
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
