# Two commands on a fresh machine with Python 3.11 or later: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MODELS := ./models/recollect-arctic-s ./models/recollect-static-s
COMPILED := $(shell find src/recollect -name '*.[ch]')
DATA := $(wildcard models/*/pyproject.toml models/*/src/*/manifest.json)

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit docs screenshots clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Recollect needs Python 3.11 or later: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml setup.py $(COMPILED) $(DATA)
	$(PIP) $(MODELS) -e .
	@touch $@

$(VENV)/tested: $(VENV)/installed
	$(PIP) -e '.[test]'
	@touch $@

demo: $(VENV)/installed  ## fill a small store and ask it ten questions, offline
	@$(BIN)/recollect demo

test: lint types unit  ## everything that must hold: ruff, mypy --strict, all tests

lint: $(VENV)/tested  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested  ## mypy --strict
	$(BIN)/mypy

# hundreds of processes are started: each would compile the package anew where no bytecode is written
unit: $(VENV)/tested  ## all tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile

docs: $(VENV)/tested  ## write the parts of the docs that the program generates
	$(BIN)/python -m recollect.doors.cli.reference > docs/cli.md
	$(BIN)/python -m recollect.doors.http.reference docs/http.md
	$(BIN)/python -m tests.test_mcp_docs

screenshots: $(VENV)/tested  ## draw the pictures of the web page anew
	PYTHONPATH=. $(BIN)/python docs/screenshots.py

clean:  ## remove what was made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
