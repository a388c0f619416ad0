# discreet: `make demo` and `make test` are complete on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.demo

# Peers and clients live in environments of their own.
PEERS := .benchenv
SCHEMATHESIS := $(PEERS)/schemathesis/.installed

.PHONY: demo test test-services lint types bench compare docs fix reader sbom audit-deps clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The demo needs neither linters nor Ray nor Presidio: an extra of its own.
$(DEMO): pyproject.toml papers/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]' --editable papers
	touch $(DEMO)

$(STAMP): pyproject.toml papers/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable papers
	touch $(STAMP) $(DEMO)

demo: $(DEMO)
	$(BIN)/python examples/demo.py --out demo

# Two workers on two cores: with more threads than one each, small tensors wait for threads that wait for a core.
test test-services: export OMP_NUM_THREADS := 1
test: $(STAMP) lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q

# What needs more than pip brings (chromium, node, npm, postgresql, wrk): fails where it cannot run. Without kubectl or
# promtool their checks of deploy/ are skipped, which the last lines say. To collect the other files takes half a minute.
test-services: $(STAMP) $(SCHEMATHESIS)
	$(BIN)/python -m pytest -q -ra -m services -o addopts="--strict-markers --strict-config --import-mode=importlib" \
	  $$(grep -rl --include='*.py' 'mark\.services' tests)

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
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

$(SCHEMATHESIS):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile 'schemathesis>=4.32,<5'
	touch $@

# jax-privacy and SACRO-ML say what they need; of what PrivacyGuard says, its attacks and their analysis need these. The
# forests of `make compare` need scikit-learn everywhere.
JAX := $(PEERS)/jax/.installed
GUARD := $(PEERS)/privacyguard/.installed
SACRO := $(PEERS)/sacroml/.installed
ART := $(PEERS)/art/.installed
LABELS := $(PEERS)/labels/.installed

$(JAX):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet 'jax-privacy==2.0.0' scikit-learn
	touch $@

$(GUARD):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-deps 'privacyguard-platform==0.0.2'
	$(@D)/bin/python -m pip install --quiet 'pandas<3' scipy scikit-learn torch tqdm
	touch $@

$(SACRO):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet 'sacroml==2.0.1'
	touch $@

# ART imports packaging and does not say so.
$(ART):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet 'adversarial-robustness-toolbox==1.20.1' packaging
	touch $@

# diffprivlib does not import with a newer scikit-learn.
$(LABELS):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet 'privacy-estimates==0.1.0.post1' 'diffprivlib==0.6.6' 'scikit-learn==1.5.2' 'opendp==0.16.0'
	touch $@

# Ratios in one run, with one thread for numerical libraries. PEER_CODE="--authors DIR --leakpro DIR" runs those two
# peers' own loops from checkouts; without it their loops are ours, written from them.
bench: export OMP_NUM_THREADS := 1
bench: $(STAMP) $(JAX) $(GUARD) $(LABELS)
	$(BIN)/python benchmarks/lean.py
	$(BIN)/python -m benchmarks.layer1_presidio
	$(BIN)/python -m benchmarks.membership_peers $(PEER_CODE)
	$(BIN)/python -m benchmarks.membership_scale
	$(BIN)/python -m benchmarks.label_bounds
	$(BIN)/python -m benchmarks.label_peers

# Membership tools side by side: make compare DATA=… (public sets) RUNS=… (a folder that keeps what was run).
compare: export OMP_NUM_THREADS := 1
compare: $(STAMP) $(JAX) $(GUARD) $(SACRO) $(ART)
	$(BIN)/python -m benchmarks.membership_compared --data $(DATA) --runs $(RUNS)

# Trains the reader further: make reader DATA=… REFUSE=… (public sets, and the script that knows test text). Two hours
# on two free cores; with the state there, training is not repeated. The parser lives in an environment of its own. WORK
# holds text of the data, so it lies outside of the repository.
TEACHER := $(PEERS)/teacher/.installed
WORK ?= ../discreet-reader

$(TEACHER):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --require-hashes -r benchmarks/reader/requirements-teacher.txt
	touch $@

reader: $(STAMP) $(TEACHER)
	$(BIN)/python -m benchmarks.reader.teachers --data $(DATA) --refuse $(REFUSE) --output $(WORK)
	for part in clinical general; do $(dir $(TEACHER))bin/python benchmarks/reader/silver.py \
	  --input $(WORK)/unlabelled_$$part.jsonl --output $(WORK)/silver_$$part.jsonl || exit 1; done
	$(BIN)/python -m benchmarks.reader.restore --state $(WORK)/before.pt
	$(BIN)/python -m benchmarks.reader.train --data $(DATA) --teachers $(WORK) --refuse $(REFUSE) --without panorama \
		--start $(WORK)/before.pt --epochs 1 --rate 1e-4 --frames 400 --seed 9 --state $(WORK)/first.pt --output $(WORK)/first
	$(BIN)/python -m benchmarks.reader.train --data $(DATA) --teachers $(WORK) --refuse $(REFUSE) --without panorama \
		--start $(WORK)/first.pt --epochs 1 --rate 7e-5 --frames 150 --share 0.15 --seed 10 --state $(WORK)/state.pt
	$(BIN)/python -m benchmarks.reader.restore --classifier --state $(WORK)/classifier_before.pt
	$(BIN)/python -m benchmarks.reader.classifier --data $(DATA) --refuse $(REFUSE) --start $(WORK)/classifier_before.pt \
		--epochs 1 --rate 8e-5 --seed 7 --twice v1 v2 v4 v5 --state $(WORK)/classifier.pt
	$(BIN)/python -m benchmarks.reader.sources --data $(DATA) --refuse $(REFUSE) --seed 2
	$(BIN)/python -m benchmarks.reader.calibrate --data $(DATA)
	$(BIN)/python -m benchmarks.reader.professional --data $(DATA)

# What the service runs with, in an environment of its own: a bill of materials (CycloneDX), and known vulnerabilities, for
# which pip-audit asks the package index. The tools live in another, so that they are not among what they list.
RELEASE := $(PEERS)/release/.installed
SUPPLY := $(PEERS)/supply/.installed

$(RELEASE): pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile '.[postgres]'
	touch $@

$(SUPPLY):
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile 'cyclonedx-bom>=7,<8' 'pip-audit>=2.7,<3'
	touch $@

sbom: $(RELEASE) $(SUPPLY)
	$(dir $(SUPPLY))bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --validate \
	  --of JSON -o sbom.json $(dir $(RELEASE))bin/python

audit-deps: $(RELEASE) $(SUPPLY)
	$(PYTHON) tools/audit_deps.py $(dir $(RELEASE)) $(dir $(SUPPLY))

clean:
	rm -rf $(VENV) demo
