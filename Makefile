# Each target sets up what it needs in .venv by itself.
#
#   PYTHON=python3.13             the Python that .venv is made with
#   CONSTRAINTS=.ci/oldest.txt    versions to install; these go to a .venv of their own
#   WORKERS=4                     test processes (auto: one for each core, at most 8)
#   EXTRAS=all,torch              extras of nearkin to install
#   ARGS="-k pairs"               more arguments for demo, test, bench or mutants

PYTHON      ?= python3
CONSTRAINTS ?=
WORKERS     ?= auto
EXTRAS      ?= all
ARGS        ?=

VENV  := .venv$(if $(CONSTRAINTS),-$(basename $(notdir $(CONSTRAINTS))))
GROUP := $(if $(CONSTRAINTS),test,dev)
BIN   := $(VENV)/bin
READY := $(VENV)/.ready
WARM  := $(VENV)/.warm

# The processes share the cores, so each keeps to one thread. Numba has two, so that parallel
# loops are tested in parallel. What Python compiles is kept for the next process: there are many.
TEST_ENV := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	VECLIB_MAXIMUM_THREADS=1 NUMBA_NUM_THREADS=2 MPLBACKEND=Agg

# The page of the studio, and whether it can be built and looked at here.
PAGE    := src/nearkin/studio/server/page/index.html
NPM     := $(if $(wildcard page/package.json),$(shell command -v npm))
BROWSER := $(firstword $(foreach name,chromium-headless-shell chromium chromium-browser \
	google-chrome,$(shell command -v $(name))))

.DEFAULT_GOAL := help
.PHONY: help demo studio test bench mutants docs release lint clean remake page

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s%s\n", $$1, $$2 }' Makefile
	@sed -n '2,/^$$/s/^# //p' Makefile

demo: $(READY) ## run the demonstration
	$(BIN)/python -m nearkin.demo $(ARGS)

studio: $(PAGE) ## build the page of the studio (needs Node.js)

test: $(READY) ## run all tests
	@$(MAKE) --no-print-directory -j2 $(WARM) page
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal $(ARGS)

bench: $(READY) ## run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

mutants: $(READY) ## change the code in small ways, and see whether tests notice
	$(BIN)/python -m pip install --quiet --group mutants
	$(BIN)/python -m benchmarks.mutants $(ARGS)

docs: $(VENV)/.ready-docs ## build the site into build/site; links, code and pages are checked
	$(BIN)/python -m sphinx -q -W --keep-going -j auto docs build/site $(ARGS)
	$(BIN)/python docs/check_links.py build/site
	$(BIN)/python -m tests.page_blocks --check docs
ifneq ($(NPM),)
	@$(MAKE) --no-print-directory page/node_modules/.ready || echo "npm could not fetch axe-core."
endif
	$(BIN)/python docs/check_pages.py build/site
	@echo "The site: build/site/index.html"

release: $(VENV)/.ready-release ## make a release but for the upload, in dist; ARGS=--trial for a trial
	$(BIN)/python .ci/release.py make $(ARGS)

lint: $(READY) ## check style, types, the direction of imports and spelling; the page's tests too
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/python docs/check_spelling.py
ifneq ($(NPM),)
	@$(MAKE) --no-print-directory page/node_modules/.ready
	cd page && npm run --silent check
endif

clean: ## remove .venv, caches and build results
	rm -rf .venv .venv-* build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf page/node_modules $(dir $(PAGE))
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Built if that is possible; the tests that need it are skipped if not.
page:
ifeq ($(NPM),)
	@echo "No npm: the page of the studio is not built, and tests in a browser are skipped."
else
	@$(MAKE) --no-print-directory studio || \
		echo "The page of the studio could not be built: tests in a browser are skipped."
ifeq ($(BROWSER),)
	@echo "No Chromium: tests in a browser are skipped."
endif
endif

$(PAGE): page/node_modules/.ready $(shell find page -type f -not -path '*/node_modules/*' 2>/dev/null)
	cd page && npm run build
	touch $@

page/node_modules/.ready: page/package-lock.json
	cd page && npm ci --no-audit --no-fund
	touch $@

# A PYTHON that was asked for and is not the one in .venv: make .venv anew.
version = $(shell $(1) -c 'import sys; print(sys.version_info[:2])' 2>/dev/null)
ifneq ($(origin PYTHON),file)
ifeq ($(call version,$(PYTHON)),)
$(error PYTHON=$(PYTHON) does not run)
endif
ifneq ($(wildcard $(BIN)/python),)
ifneq ($(call version,$(PYTHON)),$(call version,$(BIN)/python))
$(READY): remake
endif
endif
endif

remake:
	rm -rf $(VENV)

# Compiled loops, before several test processes compile the same ones at once; where none can be
# kept, or Numba is switched off, the tests do without.
$(WARM): $(READY) $(shell grep -rl '^@compiled' src --include='*.py')
	$(TEST_ENV) $(BIN)/python -m nearkin warm-up || true
	touch $@

$(VENV)/.ready-docs: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.ready-release: $(READY)
	$(BIN)/python -m pip install --quiet --group release
	touch $@

$(READY): pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) \
		--group $(GROUP) --editable '.[$(EXTRAS)]'
	touch $@
