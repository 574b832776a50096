"""The tests here need the extra ``models``: `make test-models` has it, `make test` passes over them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
