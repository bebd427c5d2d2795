# Each target is plain commands; the README shows the same ones for pip and uv.
PYTHON ?= python3
BIN := .venv/bin
# Tests of one module stay together where they share something slow to start (marked xdist_group).
PYTEST := $(BIN)/pytest -n auto --dist loadgroup

# Each framework in an environment of its own beside loriner, since their pins conflict.
BRIDGES := dspy gepa inspect tables otel mcp verifiers
PACKAGES_inspect := inspect-ai openai
PACKAGES_tables := datasets pyarrow
PACKAGES_otel := opentelemetry-sdk

.PHONY: demo test test-all test-bridges check docs bench release-check clean

demo: .venv/demo.stamp
	$(BIN)/loriner demo

test: .venv/dev.stamp
	$(PYTEST) -m "not (slow or real_model)"

# The first command also checks the floor of coverage (pyproject.toml).
test-all: .venv/all.stamp
	$(PYTEST) tests/unit tests/properties --cov --cov-report=
	$(PYTEST) tests/e2e tests/hostile tests/train tests/gpu

test-bridges: $(BRIDGES:%=test-bridge-%)

.PRECIOUS: .venv/bridges/%.stamp
test-bridge-%: .venv/bridges/%.stamp
	.venv/bridges/$*/bin/python -m pytest -W ignore tests/bridges/test_$*.py

check: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports

docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/dev.stamp
	for script in edits chat sandbox store trials; do $(BIN)/python bench/$$script.py || exit 1; done

release-check: .venv/release.stamp
	$(BIN)/python .ci/release_check.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[local]'
	touch $@

.venv/dev.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev,rg,local,qa]'
	touch $@

.venv/docs.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

.venv/release.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	touch $@

# PyTorch by its version: without one, the newest is taken, which may bring gigabytes for a GPU.
.venv/all.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet torch==2.13.0 --editable '.[dev,docs,release,rg,local,qa,train]'
	touch $@ .venv/dev.stamp .venv/docs.stamp .venv/release.stamp

.venv/bridges/%.stamp: pyproject.toml
	$(PYTHON) -m venv .venv/bridges/$*
	.venv/bridges/$*/bin/python -m pip install --quiet $(or $(PACKAGES_$*),$*) --editable . \
		hypothesis pytest pytest-asyncio pytest-timeout
	touch $@

clean:
	rm -rf .venv build dist site
