# Each target does all its own set-up, from a fresh clone on, in .venv. Paths are relative: the folder may hold a space.
#   make demo | test | lint | bench | chaos | clean        PYTHON=python3.12 make test   (after make clean)
#   DIR=folder make demo
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
DIR ?= examples/supplier_review/proposals
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input install --quiet
SETTING := $(PY) build_backend/setting.py
NATIVE := .venv/.native
# A worker for each processor; one that runs out of tests takes some of another's.
SPREAD := -n auto --maxprocesses=8 --dist worksteal
RUST := Cargo.toml Cargo.lock rust/Cargo.toml $(shell find rust -name '*.rs' 2>/dev/null)

# An environment that happens to be active must not take part.
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH TASKSTATE_BUILD
export VIRTUAL_ENV := $(CURDIR)/.venv
export PYO3_PYTHON := $(CURDIR)/$(PY)

# A .venv that was copied or moved along with its folder points at the old place.
ifneq ($(shell cat .venv/.home 2>/dev/null || pwd),$(shell pwd))
$(shell rm -rf .venv)
endif
# Somebody removed the built module: the stamp doesn't count.
ifeq ($(wildcard python/taskstate/core/_native*.so),)
.PHONY: $(NATIVE)
endif

LINTS := lint-rust lint-types lint-stubs lint-style
.PHONY: help demo test lint $(LINTS) bench clean
help:
	@sed -n '2s/^# *//p' Makefile

demo: $(NATIVE)
	@$(PY) -m taskstate.demo "$(DIR)" --temporary

test: $(NATIVE) .venv/.with-test
	TASKSTATE_CORE=native TASKSTATE_REQUIRE=native,pure,memory,file,sqlite,postgres $(PY) -m pytest $(SPREAD)
	TASKSTATE_CORE=pure TASKSTATE_REQUIRE=pure,memory,file,sqlite,postgres $(PY) -m pytest $(SPREAD) -m 'not once'
	@echo 'the whole suite passed on both twins: native and pure'

# Side by side, once what they share is there.
lint $(LINTS): $(NATIVE) .venv/.with-lint .venv/.with-test
lint:
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(LINTS)

lint-rust:
	cargo fmt --check
	cargo clippy --quiet --locked --all-targets -- -D warnings
	cargo clippy --quiet --locked --all-targets --features abi3 -- -D warnings

lint-types:
	$(PY) -m mypy

lint-stubs:
	MYPYPATH=python $(PY) -m mypy.stubtest taskstate.core._native --mypy-config-file pyproject.toml

lint-style:
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	.venv/bin/lint-imports --no-logo

# Workers killed at random for a minute, and a server restarted under them; CHAOS_SEED=number repeats a storm. And the
# plans of what is done all the time, with a million tasks there.
chaos: $(NATIVE) .venv/.with-test
	CHAOS=long $(PY) -m pytest -s tests/tasks/test_chaos.py tests/tasks/test_plans.py

bench: $(NATIVE) .venv/.with-test .venv/.with-bench
	$(PY) -m pytest benches --benchmark-only
	$(PY) -m benches.ratios
	$(PY) -m benches.tasks

clean:
	rm -rf .venv target dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
	rm -f python/taskstate/core/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.home:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'taskstate needs Python 3.11 or later: make PYTHON=/path/to/python3 ...' >&2; exit 1; }
	@echo 'setting up .venv'
	@$(PYTHON) -m venv .venv
	@pwd > $@

$(NATIVE): $(RUST) pyproject.toml .venv/.home
	@command -v cargo > /dev/null || { echo 'cargo is missing: the native core needs a Rust toolchain' >&2; exit 1; }
	@echo 'building the native core (release)'
	@$(SETTING) tool.taskstate.build.native | $(PIP) -r /dev/stdin
	@rm -f python/taskstate/core/_native*.so
	@MATURIN_PEP517_ARGS=--locked $(PIP) --no-build-isolation --editable .
	@touch $@

.venv/.with-%: pyproject.toml .venv/.home
	@echo 'installing what make needs for: $*'
	@$(SETTING) project.optional-dependencies.$* | $(PIP) -r /dev/stdin
	@touch $@
