# Everything a checkout needs: `make demo` and `make test` start from Python, Rust and a C compiler alone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/tools.stamp
BUILT := $(VENV)/built.stamp
DEMO := build/demo
RUST := Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name '*.toml')
PYTHON_DIRS := $(wildcard python tests ci benches examples)

# One job where memory or cores are few: `make test JOBS=1`.
JOBS ?=
CARGO_JOBS := $(if $(JOBS),-j$(JOBS))

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: $(BUILT) ## Build, sanitize the bundled sample, show the report
	rm -rf $(DEMO)
	$(BIN)/python ci/sample.py $(DEMO)/sample
	$(BIN)/ctxproto sanitize $(DEMO)/sample -o $(DEMO)/clean --report $(DEMO)/report.json --no-config
	$(BIN)/python ci/sample.py --show $(DEMO)/sample $(DEMO)/clean
	$(BIN)/python ci/sample.py --check $(DEMO)/sample.truth.json $(DEMO)/clean

.PHONY: test
test: lint test-rust test-python ## Everything that must pass before a change goes in

# Properties see the same cases in every run, so that a change is judged by what it did; `make soak` draws new ones.
test-rust: export PROPTEST_RNG_SEED ?= 20260101

.PHONY: test-rust
test-rust: $(TOOLS)
	cargo test --workspace --locked --quiet $(CARGO_JOBS)

.PHONY: soak
soak: $(BUILT) ## The same checks on new cases, the fuzz targets for a minute each, 500 kills of writers
	CTXPROTO_FUZZ_SECONDS=60 cargo test --workspace --locked --release $(CARGO_JOBS)
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest --quiet
	$(BIN)/python ci/kill_writers.py --kills 500

.PHONY: test-python
test-python: $(BUILT)
	$(BIN)/python -m mypy.stubtest ctxproto._core --ignore-missing-stub --mypy-config-file pyproject.toml
	$(BIN)/python -m pytest --quiet

.PHONY: lint
lint: $(BUILT) ## Formats, lints, types, licences, and who may import whom
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet $(CARGO_JOBS) -- -D warnings
	$(BIN)/ruff check --quiet $(PYTHON_DIRS)
	$(BIN)/ruff format --check --quiet $(PYTHON_DIRS)
	$(BIN)/mypy $(PYTHON_DIRS)
	$(BIN)/python ci/direction.py
	$(BIN)/python ci/notices.py --check

.PHONY: format
format: $(TOOLS) ## Format the sources
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet $(PYTHON_DIRS) || true
	$(BIN)/ruff format --quiet $(PYTHON_DIRS)

.PHONY: bench
bench: $(BUILT) ## Measure against other tools and write the table in README.md
	$(BIN)/python benches/run.py
	$(BIN)/python benches/needles.py
	$(BIN)/python benches/envelope.py
	$(firstword $(wildcard benches/.venv-peers/bin/python) $(BIN)/python) benches/budget.py
	$(firstword $(wildcard benches/.venv-peers/bin/python) $(BIN)/python) benches/prepare.py
	$(firstword $(wildcard benches/.venv-peers/bin/python) $(BIN)/python) benches/tokens.py
	$(firstword $(wildcard benches/.venv-peers/bin/python) $(BIN)/python) benches/memory.py

.PHONY: build
build: $(BUILT) ## Build the package into .venv

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) target build

$(TOOLS): pyproject.toml ci/prerequisites.sh ci/dev_requirements.py
	@PYTHON="$(PYTHON)" sh ci/prerequisites.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python ci/dev_requirements.py | $(BIN)/python -m pip install --quiet --disable-pip-version-check -r /dev/stdin
	@# Built from its source, which takes a minute, a C++ compiler and Python's headers: wherever it can be, it is tested.
	@$(BIN)/python ci/dev_requirements.py hnsw | $(BIN)/python -m pip install --quiet --disable-pip-version-check -r /dev/stdin \
		>/dev/null 2>&1 || echo 'ctxproto: hnswlib cannot be built here; its tests will be skipped'
	@touch $@

$(BUILT): $(TOOLS) $(RUST)
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release $(CARGO_JOBS) >/dev/null
	@touch $@
