# discreet: `make demo` and `make test` are complete on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types bench docs fix clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/demo.py --out demo

test: $(STAMP) lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python tools/make_docs.py --check

types: $(STAMP)
	$(BIN)/mypy

fix: $(STAMP)
	$(BIN)/ruff check --fix .

docs: $(STAMP)
	$(BIN)/python tools/make_docs.py

# Ratios in one run; peers live in an environment of their own.
bench: $(STAMP)
	$(BIN)/python benchmarks/lean.py
	$(BIN)/python benchmarks/layer1_presidio.py
	$(BIN)/python benchmarks/stats_roc.py

clean:
	rm -rf $(VENV) demo
