# Two commands for a fresh clone: `make demo` and `make test`. Both may be repeated.
PYTHON ?= python3
VENV := .venv
VENV_NT := .venv-nt
BIN := $(VENV)/bin
BIN_NT := $(VENV_NT)/bin
PIP := -m pip --disable-pip-version-check
# Most of the suite is compilation, one thread each; tests of a file share what they have compiled.
# Files keep the order of tests/conftest.py.
PYTEST_ARGS ?= -n 2 --dist=loadfile --no-loadscope-reorder

.PHONY: demo test lint typecheck pytest quick docs results test-nt mutants install clean

demo: $(VENV)/.installed
	$(BIN)/jaxdp demo

test: lint pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

pytest: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# What to run while editing: guarantees of privacy and methods, and the rooms in which git finds
# changes. Guarantees under any rounding, a sixth of the time, run with their room alone.
TOUCHED = $(wildcard $(sort $(shell git status --porcelain --untracked-files=all \
	| sed -nE 's,^.. (jaxdp/program|jaxdp|tests)/([a-z_]+(/[a-z_]+)?)/.*,tests/\2,p')))

quick: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow" -k guarantee tests/privacy tests/methods \
		--ignore=tests/methods/dp_kip/test_rounding.py
	$(if $(TOUCHED),$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow" $(TOUCHED))

# The pages of docs/ and the library's reference, without network; a warning is an error.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Open site/index.html in a browser; its search needs a server: $(BIN)/python -m mkdocs serve"

# The tables of the README, docs/results.md and docs/which.md, from what benchmarks/results has.
results: $(VENV)/.installed
	$(BIN)/python -m benchmarks.pages

# The oracle comparisons and the core on the oldest supported jax, beside neural-tangents.
test-nt: $(VENV_NT)/.installed
	$(BIN_NT)/python -m pytest $(PYTEST_ARGS)

# Plants bugs in all that is privacy-critical, and sees whether a test fails for each: half an hour.
mutants: $(VENV)/.installed-dev
	$(BIN)/python tests/mutants.py $(MUTANTS_ARGS)

install: $(VENV)/.installed

# A stamp is touched last, so an interrupted installation is done again.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python $(PIP) install --quiet --editable ".[dev]"
	touch $@

$(VENV_NT)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV_NT)
	$(BIN_NT)/python $(PIP) install --quiet --editable ".[nt,test]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV_NT) build site *.egg-info .pytest_cache .mypy_cache .ruff_cache
