# `make demo` and `make test` need Python 3.11 or newer and nothing else; both set up .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One Slurm and one Ray for a machine; the other marked tests share nothing.
ALONE := slurm or ray
MARKED := (slow or wandb or browser or peers) and not ($(ALONE))

.PHONY: help demo test test-all test-marked lint format report bench

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## a real sweep of about three minutes, and its report
	$(BIN)/python train.py experiment=demo
	$(BIN)/python scripts/report.py

test: $(READY)  ## the tests that need no service, no network and no root
	$(BIN)/python -m pytest

test-all: test test-marked  ## those, then the marked tests

test-marked: $(READY)  ## the marked tests, each of which installs what it needs
	$(BIN)/python -m pytest -m "$(MARKED)"
	$(BIN)/python -m pytest -n 0 -m "$(ALONE)"

lint: $(READY)  ## style, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: $(READY)  ## put the code into the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

report: $(READY)  ## fit rates and tests of everything under outputs/
	$(BIN)/python scripts/report.py

bench: $(READY)  ## times as ratios, on an otherwise idle machine
	$(BIN)/python scripts/bench.py all
