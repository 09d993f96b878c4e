# Everything a developer does with Podium. `make help` lists it. Needs Python >= 3.11 and make;
# each target sets up what it needs in $(VENV), and works without a network from then on.

PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --no-input
# Tests at once: a worker a core for those that compute, half as many more for those that wait for
# disks, agents and daemons.
CORES := $(shell getconf _NPROCESSORS_ONLN)
JOBS ?= $(CORES)
MIXED_JOBS ?= $(shell expr $(CORES) + '(' $(CORES) + 1 ')' / 2)
# Who is done takes from who has most left: no slow test goes on alone behind another.
SHARED := -n $(MIXED_JOBS) --dist worksteal
# The compiler of the client's types; npm comes with the tools of $(VENV).
TYPESCRIPT := 7.0.2
TSC := .cache/typescript-$(TYPESCRIPT)/node_modules/.bin/tsc
WEB_TYPES := .cache/web-types/.installed
SOURCES := $(wildcard daemon client tests benchmarks)
.DEFAULT_GOAL := help

# A make that an agent or a Podium turn has started must not hand its traces to what it runs.
# CLAUDE_BIN and CODEX_BIN are meant for us: binaries to use in place of the pinned ones.
TRACES := $(filter-out CLAUDE_BIN CODEX_BIN,\
	$(filter PODIUM_% CLAUDE% ANTHROPIC% CODEX% OPENAI%,$(.VARIABLES)))
$(foreach name,$(TRACES),$(eval unexport $(name)))

# What Python has compiled is kept, else each process of the tests compiles all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run
run: $(VENV)/.runtime ## play a whole recipe with the scripted agent, in a private daemon
	@$(PY) -m podiumd.daemon.demo

.PHONY: test
test: $(VENV)/.dev ## run the tests; core and formats must be covered by their own, wholly
	@# The agent's binary comes over the network while others compute.
	@$(MAKE) --no-print-directory -j2 test-pure claude
	@$(MAKE) --no-print-directory test-rest

.PHONY: environment
environment: $(VENV)/.dev ## set up what the other targets need

# First and apart: quick, and their coverage may owe nothing to tests of other packages.
.PHONY: test-pure
test-pure: $(VENV)/.dev
	@# A file of its own: one run would else count what another beside it has covered.
	data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && COVERAGE_FILE=$$data/coverage \
		$(PY) -m pytest -n $(JOBS) --hypothesis-profile few -m "not long" tests/core tests/formats \
		tests/wire --cov=podiumd.core --cov=podiumd.formats --cov=podiumd.wire --cov-branch \
		--cov-fail-under=100

.PHONY: test-rest
test-rest: $(VENV)/.dev claude
	$(PY) -m pytest $(SHARED) --hypothesis-profile few -m "not long" \
		--ignore=tests/core --ignore=tests/formats --ignore=tests/wire $(ELSEWHERE)

# Of the stories with the real agent 'make test' plays one or two of each file of MAIN_PATHS; all
# others take long, and so do the service's whole life, every door with every key and name, load,
# random lives of session files, the crash campaign's own tests. Of the other files it leaves out
# what is marked 'long': what a quicker test shows as well (tests/long.py).
MAIN_PATHS := recipe_loop restarts prompts native_turn
LONG_TESTS := $(filter-out $(MAIN_PATHS:%=tests/e2e/test_%.py),$(wildcard tests/e2e/test_*.py)) \
	tests/service/test_restarts.py tests/service/test_install.py \
	tests/service/test_inside_a_turn.py tests/doors tests/load tests/histories/test_campaign.py \
	tests/speech/voice tests/faults/test_campaign.py tests/drivers/test_claude_served.py
# What has a target of its own, or stands here whole for 'make test-long'.
ELSEWHERE := --ignore=tests/browser --ignore=tests/user_manager --ignore=tests/codex \
	--ignore=tests/acp_agents --ignore=tests/web \
	$(addprefix --ignore=,$(LONG_TESTS))
.PHONY: test-long
test-long: $(VENV)/.dev claude voice-assets ## what takes long, and all examples of the properties
	$(PY) -m pytest $(SHARED) --hypothesis-profile all -m "long or hypothesis" $(ELSEWHERE)
	$(PY) -m pytest $(SHARED) $(LONG_TESTS)

# The real program is 404 MB: 'make test' does without it, .ci/run does not.
.PHONY: test-codex
test-codex: $(VENV)/.dev claude codex ## the tests with the real Codex, of some beside the real Claude
	$(PY) -m pytest $(SHARED) tests/codex

# Node.js comes with the environment of the tests, the programs (90 to 190 MB each) from npm. A
# question, and a call of a tool, are held for HOLD_MINUTES with the daemon dead.
HOLD_MINUTES ?= 30
.PHONY: agents
agents: $(VENV)/.dev acp-agents ## the tests with real agents that speak the Agent Client Protocol
	HOLD_MINUTES=$(HOLD_MINUTES) $(PY) -m pytest $(SHARED) tests/acp_agents \
		-o faulthandler_timeout=$$(expr $(HOLD_MINUTES) "*" 60 + 900)

.PHONY: voice
voice: $(VENV)/.dev voice-assets ## the tests of speech with real models and recordings
	$(PY) -m pytest tests/speech/voice

.PHONY: voice-assets
voice-assets: $(VENV)/.voice ## bring the models and recordings of those tests, by hash, into .cache
	$(PY) -m tests.speech.assets tiny.en base

.PHONY: browser
browser: $(VENV)/.dev ## hostile pages in a real Chromium: CHROMIUM=PATH, else one that is on PATH
	$(PY) -m pytest tests/browser

.PHONY: web
web: $(VENV)/.dev claude ## the page in Chromium (CHROMIUM=PATH, else one on PATH), Firefox and WebKitGTK, at a real daemon
	$(PY) -m pytest $(SHARED) tests/web

.PHONY: vendor
vendor: $(VENV)/.dev ## write anew, byte for byte, what of others the page is made with
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(PY) -m tests.web.vendor

.PHONY: user-manager
user-manager: $(VENV)/.dev claude ## the service under a real systemd user manager; needs root
	$(PY) -m tests.user_manager.namespace $(PY) -m pytest tests/user_manager

.PHONY: claude
claude: $(VENV)/.dev ## install the pinned agent CLI for the end-to-end tests, in .cache
	@test -n "$$CLAUDE_BIN" || $(PY) tests/e2e/install_claude.py

.PHONY: codex
codex: $(VENV)/.dev ## install the pinned Codex for its tests, in .cache
	@test -n "$$CODEX_BIN" || $(PY) -m tests.e2e.install_codex

.PHONY: acp-agents
acp-agents: $(VENV)/.dev ## install the pinned agents of 'make agents', in .cache
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(PY) -m tests.e2e.install_acp

.PHONY: lint
lint: $(VENV)/.dev ## ruff, its formatter, and the trio rules of flake8-async
	$(PY) -m ruff check $(SOURCES)
	$(PY) -m ruff format --check $(SOURCES)
	$(PY) -m tests.house.trio_rules $(SOURCES)

.PHONY: format
format: $(VENV)/.dev ## let ruff format the code and mend what it can
	$(PY) -m ruff check --fix $(SOURCES)
	$(PY) -m ruff format $(SOURCES)

.PHONY: types
types: $(VENV)/.dev $(TSC) $(WEB_TYPES) ## mypy and tsc, strict: of the second the page, and the protocol's types
	$(PY) -m mypy $(SOURCES)
	$(PY) -m podiumd schema --typescript > .cache/podium.ts
	$(TSC) --noEmit --strict --ignoreConfig --target es2022 --module nodenext .cache/podium.ts \
		tests/wire/a_client.ts
	$(TSC) --project client/web/tsconfig.json

.PHONY: imports
imports: $(VENV)/.dev ## the layers: who may import whom
	$(VENV)/bin/lint-imports

.PHONY: package
package: $(VENV)/.dev ## build wheel and sdist, install them elsewhere, compare what they carry
	$(PY) tests/package/check_package.py

.PHONY: newcomer
newcomer: $(VENV)/.dev claude ## README's commands in an empty home: install, a recipe, a phone
	$(PY) -m tests.package.newcomer

# Which of README's commands; 'make fresh FRESH=run' plays the first one alone.
FRESH ?= run test
.PHONY: fresh
fresh: ## README's 'make run' and 'make test' in an empty clone with an empty home
	@root=$$(mktemp -d) && trap 'rm -rf "$$root"' EXIT && mkdir "$$root/home" && \
		git clone --quiet . "$$root/podium" && cd "$$root/podium" && for name in $(FRESH); do \
		HOME=$$root/home MAKEFLAGS= $(MAKE) --no-print-directory $$name || exit; done

.PHONY: record
record: $(VENV)/.dev ## write tests/recorded anew: what methods answer, events tell, commands print
	@$(PY) -m tests.recorded.record

.PHONY: run-life
run-life: $(VENV)/.dev ## draw ARCHITECTURE.md's picture of a run's life anew from the decider's table
	@$(PY) -m tests.house.run_life

.PHONY: agents-page
agents-page: $(VENV)/.dev ## write the tables of docs/agents.md anew: what each agent can do
	@$(PY) -m tests.house.agents_page

.PHONY: wire
wire: $(VENV)/.dev ## write anew what the client has of the daemon: protocol.py, agent_kinds.py
	$(PY) -m podiumd schema --python > client/podium/protocol.py.new
	mv client/podium/protocol.py.new client/podium/protocol.py
	$(PY) -m podiumd schema --typescript > client/web/types/podium.d.ts.new
	mv client/web/types/podium.d.ts.new client/web/types/podium.d.ts
	$(PY) -m tests.house.agent_kinds

.PHONY: crash
crash: $(VENV)/.dev ## the crash campaign: kill -9 at every failpoint and 480 other moments
	$(PY) -m tests.faults.campaign

.PHONY: crash-short
crash-short: $(VENV)/.dev ## the crash campaign, cut down for CI: the same kills each time
	$(PY) -m tests.faults.campaign --short --seed 1 --jobs 3

.PHONY: restarts
restarts: $(VENV)/.dev ## 50 kills under a held socket, 50 SIGTERM, 50 'podium down', with agents at work
	$(PY) -m tests.service.campaign

.PHONY: histories
histories: $(VENV)/.dev ## the history checker: 1,000 random lives of session files, with kills
	$(PY) -m tests.histories.campaign

.PHONY: cuts
cuts: $(VENV)/.dev ## phones behind a bad network: 1,000 cuts while 50,000 messages flow
	$(PY) -m tests.phone.campaign

.PHONY: walks
walks: $(VENV)/.dev ## 10,000 random recipes that check clean, walked to their ends within the worst case
	$(PY) -m tests.core.walks

.PHONY: autobahn
autobahn: $(VENV)/.dev ## Autobahn's cases against the gateway; needs its wstest (WSTEST=..., CPython 2.7)
	PYTHONPATH=daemon:client $(PY) -m tests.gateway.autobahn $(WSTEST)

# How many phones, for how long.
PHONES ?= 1000
MINUTES ?= 30
.PHONY: soak
soak: $(VENV)/.dev ## 1,000 phones held for half an hour, recipes beside them: nothing may grow; PHONES=... MINUTES=...
	$(PY) -m tests.load.soak --phones $(PHONES) --minutes $(MINUTES)

.PHONY: bench
bench: $(patsubst benchmarks/bench_%.py,bench-%,$(wildcard benchmarks/bench_*.py)) ## all benchmarks; one alone: make bench-NAME

bench-voice: $(VENV)/.voice

bench-%: benchmarks/bench_%.py $(VENV)/.dev
	$(PY) $<

.PHONY: constraints
constraints: ## renew constraints.txt from the newest releases
	rm -rf .cache/newest
	$(PYTHON) -m venv .cache/newest
	.cache/newest/bin/python -m pip install --quiet --upgrade pip hatchling
	.cache/newest/bin/python -m pip install --quiet --editable . --group dev
	sed '/^[^#]/d' constraints.txt > .cache/constraints.txt
	.cache/newest/bin/python -m pip freeze --all --exclude-editable --exclude setuptools \
		>> .cache/constraints.txt
	mv .cache/constraints.txt constraints.txt

.PHONY: clean
clean: ## remove the environment, builds and caches
	rm -rf $(VENV) .cache build dist .coverage .hypothesis .import_linter_cache
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.* ## ' Makefile | sed 's/:.* ## /\t/' | expand -t 14

# --- the environment -------------------------------------------------------------------------

# The programs alone, enough to run them.
$(VENV)/.runtime: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Podium needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { \
		echo "This Python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; }
	@echo "Setting up $(VENV) with pip: about half a minute, once."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --constraint constraints.txt --upgrade pip hatchling
	@$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

# And what tests and checks need.
$(TSC): $(VENV)/.dev
	@PATH="$(abspath $(VENV))/bin:$$PATH" npm install --silent --no-audit --no-fund \
		--ignore-scripts --prefix .cache/typescript-$(TYPESCRIPT) typescript@$(TYPESCRIPT)
	@touch $@

# The types of what the page is made with, as vendor.toml lists it.
$(WEB_TYPES): client/web/vendor/vendor.toml | $(VENV)/.dev
	@PATH="$(abspath $(VENV))/bin:$$PATH" npm install --silent --no-audit --no-fund \
		--ignore-scripts --prefix .cache/web-types $$($(PY) -m tests.web.vendor --packages)
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "Installing what tests and checks need into $(VENV): about a minute, once."
	@$(PIP) install --quiet --constraint constraints.txt --group dev
	@# hypothesis keeps the table of all characters in .hypothesis: each worker of the tests would
	@# make its own, at the same time, and under coverage that takes seconds.
	@$(PY) -c "from hypothesis import strategies; strategies.text().validate()"
	@touch $@

# The extra podium[voice]: some 400 MB.
$(VENV)/.voice: $(VENV)/.runtime
	$(PIP) install --quiet --constraint constraints.txt --editable '.[voice]'
	@touch $@
