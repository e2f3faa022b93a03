# Every target is one line that calls a tool; `make setup` is what all of them stand on.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: help setup lock demo ui board docs test test-fast test-next check bench chaos format clean

help:            ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready  ## make .venv from the lock, and find or install Java

.venv/.ready: requirements.txt pyproject.toml scripts/setup
	@PYTHON=$(PYTHON) bash scripts/setup

lock:            ## pin the newest versions that fit pyproject.toml
	$(BIN)/uv pip compile -q pyproject.toml --group dev --extra spark --extra postgres --generate-hashes --no-emit-index-url --no-header --python-version 3.11 -o requirements.txt

demo: setup      ## run the FX close for three months through Airflow
	@bash scripts/with_java $(BIN)/python scripts/demo.py

ui: setup        ## open the Airflow UI with the demo's runs
	@bash scripts/with_java $(BIN)/python scripts/demo.py --ui

docs: setup      ## write the generated parts of docs/
	@$(BIN)/python scripts/docs

test: setup      ## all tests but the long ones, fast ones first
	@bash scripts/with_java bash scripts/test

test-fast: setup ## unit tests
	@$(BIN)/python -m pytest -q -n 2 tests/unit

test-next: setup ## Airflow tests with the newest Airflow, pre-releases too
	@bash scripts/with_java bash scripts/test_next_airflow

check: setup     ## format, lint, types, import contracts, dead code
	@bash scripts/check

bench: setup     ## measure beside PySpark and DuckDB by hand; BENCH="--sizes 1e7 --only close" for options
	@bash scripts/with_java $(BIN)/python benchmarks/run.py $(BENCH)

chaos: setup     ## long reliability tests
	@bash scripts/with_java $(BIN)/python -m pytest -m chaos tests

board: setup     ## build the page of the board with Node
	@bash scripts/board

format: setup    ## rewrite the sources in the one format
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

clean:           ## remove what setup and the demo made
	rm -rf .venv .cache .runtime demo dist build
