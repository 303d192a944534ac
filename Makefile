# `make demo` and `make test` set up all they need in .venv; the machine brings Python 3.11+ and make.

CANDIDATES = python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN = .venv/bin
# On all cores; a file's tests stay together, for what they share.
TESTS = $(BIN)/python -m pytest --numprocesses auto --dist loadfile
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

.PHONY: demo test check format clean

# What is left of a leaderboard may be of an earlier version.
demo: .venv/demo.stamp  ## every baseline on the embedded default: tables, demo.json, and demo.html
	$(BIN)/failgym demo --json demo.json
	rm -rf demo-board
	$(BIN)/failgym leaderboard run --suite smoke --policy all-baselines --out demo-board
	$(BIN)/failgym leaderboard page demo-board --out demo.html
	@echo "the leaderboard of a small suite, to open in a browser: $(CURDIR)/demo.html"

test: .venv/dev.stamp
	$(TESTS)

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(TESTS)

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist demo.json demo.html demo-board
	rm -rf .hypothesis .import_linter_cache .pytest_cache .ruff_cache

# The core, and XGBoost: the suite shows forecasts that are learned.
.venv/demo.stamp: .venv/venv.stamp pyproject.toml constraints.txt
	$(INSTALL) --editable '.[boosting]'
	touch $@

.venv/dev.stamp: .venv/venv.stamp pyproject.toml constraints.txt
	$(INSTALL) --editable '.[all]'
	touch $@ .venv/demo.stamp

# Our own mark that the environment is whole: an interrupted set-up starts again.
.venv/venv.stamp:
	@test -n "$(PYTHON)" || { echo "failgym needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	touch $@
