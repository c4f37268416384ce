# Two commands do everything on a fresh Debian or Ubuntu machine: `make demo` and `make test`.
# The environment is .venv; system packages are installed where this account may, and named where it may not.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SYSTEM := .venv/.system
FRONT := aide_jupyter/labextension/package.json
SOURCES := package.json tsconfig.json $(shell find labextension/src labextension/style schema -type f) aide_jupyter/widgets/tree.js
PYTEST := $(BIN)/python -m pytest -q -o faulthandler_timeout=240
# Jails, servers and browsers share a busy machine's two cores: what failed is tried again, alone, twice at most, and must then pass.
AGAIN := $(PYTEST) --last-failed --last-failed-no-failures none
tests = $(PYTEST) $(1) || $(AGAIN) $(1) || $(AGAIN) $(1)

.PHONY: demo lab test lint screenshots clean

demo: $(READY) $(SYSTEM)
	$(BIN)/jupyter aide demo

lab: $(READY) $(SYSTEM) $(FRONT)
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

# The server's tests need an event loop of their own, and so does the browser: three runs.
test: $(READY) $(SYSTEM) $(FRONT) .venv/collaboration .venv/oldest lint
	npm run --silent test
	$(call tests,--ignore=tests/server --ignore=tests/ui tests)
	$(call tests,tests/server)
	$(call tests,tests/ui)

# jupyter-collaboration turns every notebook into a room, so it lies beside the environment of the other tests.
COLLABORATION := jupyter-collaboration jupyter-collaboration-ui jupyter-docprovider jupyter-server-ydoc jupyter-server-fileid \
	jupyter-ydoc pycrdt pycrdt-store pycrdt-websocket sqlite-anyio
.venv/collaboration: | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ $(COLLABORATION)

# The oldest that pyproject.toml and package.json declare, beside the environment too; a test holds it against them.
OLDEST := jupyterlab==4.4.0 jupyterlab-server==2.27.1 jupyter-server==2.15.0 notebook==7.4.0
.venv/oldest: | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ $(OLDEST)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	npm run --silent lint

# Writes docs/screenshots/*.png, by the browser tests that come past each state.
screenshots: $(READY) $(SYSTEM) $(FRONT)
	AIDE_SCREENSHOTS=docs/screenshots $(PYTEST) tests/ui -m screenshots

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "aide-jupyter needs Python 3.11 or newer: set PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv || { rm -rf .venv; echo "python3 -m venv failed: install python3-venv"; exit 1; }
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 20 || (+a === 20 && +b >= 19) ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null || { echo "Building the front end needs Node 20.19 or newer, with npm. (An installed wheel needs neither.)"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter-builder develop --overwrite .
	touch $@ $(FRONT)

$(FRONT): $(SOURCES) | $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent build:prod

$(SYSTEM): system-packages.txt | $(READY)
	@./system-packages.sh $< && touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache dist node_modules labextension/lib aide_jupyter/labextension
