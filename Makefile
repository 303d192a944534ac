# `make demo` and `make test` set up all they need in .venv; the machine brings Python 3.11+ and make.

CANDIDATES = python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
HAS_PYTHON = test -n "$(PYTHON)" || { \
	echo "failgym needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
BIN = .venv/bin
# On all cores, each process on one; a file's tests stay together, for what they share, the longest files first.
TESTS = OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

.PHONY: demo test check check-long clients lowest newest lists docs docs-serve release-check dist-check format clean

# The page is of the published run: ranks that can be trusted take hours (docs/results/leaderboard.md).
demo: .venv/demo.stamp  ## every rule in two environments: tables, demo.json; the published leaderboard: demo.html
	$(BIN)/failgym demo --env failgym/Cloning-v1 --env failgym/GracePeriod-v1 --json demo.json
	$(BIN)/failgym leaderboard page experiments/measured/v2 --verdict experiments/measured/v2_verdict.json --out demo.html
	@echo "the published leaderboard, to open in a browser: $(CURDIR)/demo.html"

test: .venv/dev.stamp
	$(TESTS)

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(TESTS)

check-long: .venv/dev.stamp  ## campaigns: many random cases, whole logs, many kills; each has a time budget
	$(BIN)/python -m tests.campaigns

# Libraries that use the environments: a group each that agrees with itself, none bound by constraints.txt.
CLIENTS = clients clients-rllib clients-tianshou
# One version of torch for all: others may bring gigabytes for graphics processors.
FREE_INSTALL = -m pip install --disable-pip-version-check --quiet --constraint tests/clients/constraints.txt

clients: $(CLIENTS:%=build/%/venv.stamp)  ## stored transitions of every client, as a table
	@for group in $(CLIENTS); do \
		build/$$group/bin/python -m pytest tests/clients --quiet -o junit_family=xunit1 \
			--junitxml=build/$$group/tests.xml; \
	done; build/clients/bin/python -m tests.clients.table $(CLIENTS:%=build/%/tests.xml)

# What a user may have, at both ends. torch is left out of the lowest: old ones come with graphics libraries only.
QUICK = tests/envs/test_contract.py tests/sim/test_golden.py tests/test_evaluation.py tests/test_files.py \
	tests/test_metrics.py tests/cli/test_commands.py tests/traces/test_store.py tests/traces/test_trace.py \
	tests/traces/readers/test_fta.py tests/traces/readers/test_sacct.py tests/traces/readers/test_swf.py
# Dependencies of ours that are old or new warn of each other. An old numba would replace what a new one cached.
QUICK_TESTS = -m pytest --numprocesses auto --dist loadfile -W default $(QUICK)

lowest: build/lowest/venv.stamp  ## the quick tests with the lowest versions that pyproject.toml admits
	NUMBA_CACHE_DIR=$(CURDIR)/build/lowest/numba build/lowest/bin/python $(QUICK_TESTS)

newest: build/newest/venv.stamp  ## the quick tests with the newest versions
	build/newest/bin/python $(QUICK_TESTS)

# The notice of Material's successor is not ours to print.
MKDOCS = NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/python -m mkdocs

lists: .venv/dev.stamp  ## the tables in docs/ of what there is: environments, rules, formats, profiles
	$(BIN)/python -m experiments.lists

docs: .venv/dev.stamp  ## the site, into site/; it needs no network, neither to be built nor to be read
	$(MKDOCS) build --strict --clean
	@echo "the site, to open in a browser: $(CURDIR)/site/index.html"

docs-serve: .venv/dev.stamp  ## the site at http://127.0.0.1:8000, built anew when a page changes
	$(MKDOCS) serve

release-check: check docs dist-check  ## all that can be known before a release; it uploads nothing

dist-check: .venv/dev.stamp  ## build sdist and wheel into dist/, look into them, install each into an empty environment
	$(BIN)/python -m tests.release

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist site demo.json demo.html
	rm -rf .hypothesis .import_linter_cache .pytest_cache .ruff_cache

.venv/demo.stamp: .venv/venv.stamp pyproject.toml constraints.txt
	$(INSTALL) --editable .
	touch $@

.venv/dev.stamp: .venv/venv.stamp pyproject.toml constraints.txt
	$(INSTALL) --editable '.[all]'
	touch $@ .venv/demo.stamp

$(CLIENTS:%=build/%/venv.stamp): build/%/venv.stamp: pyproject.toml tests/clients/constraints.txt
	@$(HAS_PYTHON)
	$(PYTHON) -m venv --clear build/$*
	build/$*/bin/python $(FREE_INSTALL) --editable '.[$*]'
	touch $@

build/newest/venv.stamp: pyproject.toml tests/clients/constraints.txt
	@$(HAS_PYTHON)
	$(PYTHON) -m venv --clear build/newest
	build/newest/bin/python $(FREE_INSTALL) --upgrade --editable '.[all]'
	touch $@

# pip always takes the newest; uv can take the lowest of what we ask for ourselves.
build/lowest/venv.stamp: pyproject.toml
	@$(HAS_PYTHON)
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/python $(FREE_INSTALL) uv
	build/lowest/bin/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct \
		--editable '.[boosting,plots,render,tuning]' 'scikit-learn>=1.5' \
		'hypothesis>=6.100' 'pytest>=8.3' 'pytest-xdist>=3.6'
	touch $@

# Our own mark that the environment is whole: an interrupted set-up starts again.
.venv/venv.stamp:
	@$(HAS_PYTHON)
	$(PYTHON) -m venv --clear .venv
	touch $@
