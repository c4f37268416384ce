# Two commands do everything on a fresh Debian or Ubuntu machine: `make demo` and `make test`.
# The environment is .venv; system packages are installed where this account may, and named where it may not.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SYSTEM := .venv/.system

.PHONY: demo test lint clean

demo: $(READY) $(SYSTEM)
	$(BIN)/jupyter aide demo

test: $(READY) $(SYSTEM) lint
	$(BIN)/python -m pytest -q -o faulthandler_timeout=240

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "aide-jupyter needs Python 3.11 or newer: set PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv || { rm -rf .venv; echo "python3 -m venv failed: install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

$(SYSTEM): system-packages.txt | $(READY)
	@./system-packages.sh $< && touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache dist
