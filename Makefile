# Each target is plain commands; the README shows the same ones for pip and uv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-train check bench clean

demo: .venv/demo.stamp
	$(BIN)/loriner demo

test: .venv/dev.stamp
	$(BIN)/pytest

test-train: .venv/train.stamp
	$(BIN)/pytest tests/train

check: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev.stamp
	for script in edits chat sandbox store trials; do $(BIN)/python bench/$$script.py || exit 1; done

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[rg,local]'
	touch $@

.venv/dev.stamp: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev,rg,local,qa]'
	touch $@

.venv/train.stamp: .venv/dev.stamp
	$(BIN)/python -m pip install --quiet --editable '.[train]'
	touch $@

clean:
	rm -rf .venv build dist
