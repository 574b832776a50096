# Thin on purpose: this file finds a Python and keeps the environment; what the targets do is in book/press.
VENV ?= .venv
MODELS ?= .venv-models
PYTHON ?=
# without PYTHON=…: what the environment was made with, then what the path has
CANDIDATES := '$(VENV)/bin/python' python3 python3.13 python3.12 python3.11

# what makes the environment
MAKER := press.environment

export PYTHONPATH := book
# an interpreter's own folders, and settings that would change what notebooks and tests do
unexport PYTHONHOME PYTHONOPTIMIZE PYTHONWARNINGS PYTHONDONTWRITEBYTECODE MPLBACKEND
SHELL := /bin/sh
python := "$(VENV)/bin/python"
# where two of two threads share two cores, products of matrices wait; and processor time adds threads up
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help book test test-library test-notebooks test-matrix test-models bench notebooks clean environment

help:
	@echo 'make book         the site, in _build/html'
	@echo 'make test         lint, types, tests, coverage; every notebook executed again and compared'
	@echo 'make test-matrix  the same outputs with other threads, vector instructions, hash seeds'
	@echo 'make test-models  released code (timm, transformers on torch), run beside the library'
	@echo 'make bench        times beside those of other programs, as ratios within one run'
	@echo 'make notebooks    execute in place the notebooks that are out of date (ALL=1: every one)'
	@echo 'make clean        remove the site, the caches and the environments'
	@echo 'VENV=folder and PYTHON=program choose the environment and the interpreter;'
	@echo 'MODELS=folder the environment of test-models, which is one of its own.'

book: environment
	@$(python) -m press.build

test: environment
	@echo 'test: lint and types'
	@$(python) -m ruff check --quiet
	@$(python) -m mypy --no-error-summary
	@$(ONE_THREAD) $(MAKE) --no-print-directory --jobs=2 test-library test-notebooks
	@echo 'test: limits of time, on a machine that does nothing else'
	@$(ONE_THREAD) $(python) -m pytest --quiet tests/test_times.py

# these two run side by side, each about half of the work; what the second says waits for its end
test-library:
	@echo 'test: the library and the project; beside them every notebook, executed again, and the press'
	@$(python) -m coverage run -m pytest --quiet --ignore-glob='*/test_press_*' --ignore-glob='*/test_times.py'
	@$(python) -m coverage report

test-notebooks:
	@said=$$(mktemp); \
	{ $(python) -m pytest --quiet --nbval notebooks && $(python) -m pytest --quiet tests/test_press_*; } \
	>"$$said" 2>&1; status=$$?; \
	echo 'test: every notebook, executed again; the press'; cat "$$said"; rm -f "$$said"; exit $$status

test-matrix: environment
	@$(python) -m press.matrix

# addopts: the settings of pyproject.toml ask for plugins that only `make test` has
test-models:
	@$(MAKE) --no-print-directory environment VENV='$(MODELS)' MAKER=press.models
	@echo 'test-models: released code beside the library'
	@"$(MODELS)/bin/python" -m pytest --quiet -o addopts=--import-mode=importlib tests/models

# each script is a run of its own, on one thread; timing.py is what they share
bench: environment
	@for script in $(filter-out benchmarks/timing.py,$(sort $(wildcard benchmarks/*.py))); do \
	  $(ONE_THREAD) PYTHONPATH=. $(python) "$$script" || exit; \
	done

notebooks: environment
	@$(python) -m press.notebooks $(if $(filter-out 0,$(ALL)),--all)

clean:
	@rm -rf _build .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find benchmarks book notebooks tests vitbias -name __pycache__ -prune -exec rm -rf {} +
	@for venv in '$(VENV)' '$(MODELS)'; do if [ -f "$$venv/pyvenv.cfg" ]; then rm -rf "$$venv"; fi; done

environment:
	@found=''; \
	for candidate in $(if $(PYTHON),'$(PYTHON)',$(CANDIDATES)); do \
	  version=$$("$$candidate" -c 'import sys; print(sys.version.split()[0])' 2>/dev/null) || continue; \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11) or sys.implementation.name != "cpython")' \
	    2>/dev/null || { found="$$found, $$candidate is $$version"; continue; }; \
	  "$$candidate" -c 'import ensurepip, venv' \
	    2>/dev/null || { found="$$found, $$candidate has no venv or no pip"; continue; }; \
	  exec "$$candidate" -m $(MAKER) '$(VENV)' $(if $(PYTHON),--exactly); \
	done; \
	echo "make: CPython 3.11 or newer with venv and pip is needed$${found:-, and none was found};" \
	  "install it, or name it with PYTHON=/path/to/python3" >&2; exit 3
