# Holdpoint. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO ?= cargo
YES ?=
# What the binary embeds, built before it and only when its sources changed, so that cargo does not build twice.
DASHBOARD := apps/web/dist/index.html
DASHBOARD_SOURCES := $(shell find apps/web/src apps/web/public -type f) $(addprefix apps/web/,index.html package-lock.json tsconfig.json vite.config.ts)

.PHONY: help hostile demo test check crash faults powercut bench search setup sim fmt bench-live bench-web bench-index bench-broker sandbox mcp-conformance agents fuzz web web-test security-test api-test audit

help: ## What there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## Install what tests and the sandbox need (bubblewrap; cargo-nextest if it is missing)
	@.ci/setup

demo: ## Run the whole story on a sample repository; YES=1 answers everything itself
	@.ci/setup --demo
	$(CARGO) build --locked --package holdpoint
	target/debug/holdpoint demo $(if $(YES),--yes,)

check: ## Format and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

test: setup web check ## Everything that must hold, with a sample of the crash, browser and security suites
	$(CARGO) build --locked --package holdpoint
	$(CARGO) nextest run --locked --workspace
	@.ci/web-test --sample

crash: setup ## Kill the server at every boundary of every scenario
	$(CARGO) build --locked --package holdpoint
	$(CARGO) run --locked --package tests --bin crash

hostile: setup ## Attacks on session folders, verdicts, git, the broker and the server, each through the code it was aimed at
	$(CARGO) build --locked --package holdpoint
	$(CARGO) nextest run --locked --workspace -E 'test(hostile) | binary(git_hostile) | binary(git_tricks) | test(changed_tests::) | test(memory::) | test(landing::) | test(abandoned::) | test(request_filter) | test(smuggling::) | test(overspending::) | test(damaged::) | test(scopes::) | test(locks_that_a_killed_git) | test(log_writer) | test(program::what_a_program) | test(isolation::) | test(chain) | test(walls::) | binary(crowded) | binary(failing_disk) | binary(secrets)'

sandbox: setup ## Escapes from inside each tier of the sandbox, and its limits: what is denied, contained or a known gap
	$(CARGO) build --locked --package runner --examples
	$(CARGO) nextest run --locked --package runner --test attempts --no-capture -E 'test(escapes::) | test(walls::) | test(exhaustion::)'

faults: setup ## Let every git call, then system calls on every file of the data directory, fail once; PLAYBOOK=task STEP=5 CALLS=200 FROM=3 JOBS=4 for a part
	$(CARGO) build --locked --package holdpoint --package tests --bins
	target/debug/faults $(or $(PLAYBOOK),all) $(or $(STEP),1) $(or $(FROM),1) $(or $(JOBS),2)
	target/debug/disk-faults $(or $(PLAYBOOK),all) $(or $(CALLS),400) $(or $(FROM),1) $(or $(JOBS),2)

powercut: setup ## Cut the power at every boundary and at random instants of a project's first run (root, loop devices); CUTS=100 STEP=1 JOBS=2
	$(CARGO) build --locked --package holdpoint
	$(CARGO) run --locked --package tests --bin powercut -- $(or $(CUTS),100) $(or $(STEP),1) $(or $(JOBS),2)

search: ## Every state of every built-in playbook, with the figures
	$(CARGO) run --locked --package testkit --bin search

sim: ## Simulate whole installations with faults; SEEDS=5000 FROM=1
	$(CARGO) run --locked --package testkit --bin sim -- --all-faults --seeds $(or $(SEEDS),1000) --from $(or $(FROM),1)

bench: ## Speed and memory, beside the limits of the raw database
	$(CARGO) build --locked --release --package holdpoint --package tests --bins
	target/release/bench

bench-live: ## 1,000 clients on /api/live and one that never reads: delivery, loss, memory; LOAD="1000 20 60" clients, events/s, seconds
	$(CARGO) build --locked --release --package tests --bin bench-live
	@ulimit -n $$(ulimit -Hn) && target/release/bench-live $(LOAD)

bench-web: setup web ## The dashboard over 10,000 runs and 500 holds in Chromium: paints, keys, scrolling, live changes (npm)
	$(CARGO) build --locked --release --package holdpoint --package tests --bins
	@.ci/bench-web

bench-index: ## Search by meaning on a repository of 5,000 files: time, size, right answers
	$(CARGO) bench --locked --package index --bench repository

bench-broker: ## What the broker adds to a call, beside a direct line and the LiteLLM proxy; BENCH_SECONDS=2 per cell
	@.ci/litellm
	$(CARGO) bench --locked --package broker --bench gateway

mcp-conformance: ## The official MCP conformance suite and the inspector against `holdpoint mcp` (npm)
	$(CARGO) build --locked --package holdpoint
	@.ci/mcp-conformance

agents: setup ## Real agent programs (npm) through the demo, with a scripted model; AGENTS="claude codex" tries only these
	@.ci/agents

web: $(DASHBOARD) apps/web/node_modules/.package-lock.json ## Build the dashboard (npm)

$(DASHBOARD): $(DASHBOARD_SOURCES) apps/web/node_modules/.package-lock.json
	npm run --prefix apps/web build

apps/web/node_modules/.package-lock.json: apps/web/package-lock.json
	npm ci --prefix apps/web --ignore-scripts --no-audit --no-fund
	@touch $@

web-test: setup web ## The dashboard's tests: its pure parts, then all of it in Chromium against real servers, hostile pages and hostile text (npm)
	$(CARGO) build --locked --package holdpoint
	@.ci/web-test

security-test: setup web ## Hostile pages and hostile text against the dashboard, its API and the terminal, in Chromium (npm)
	$(CARGO) build --locked --package holdpoint
	@PARTS=security .ci/web-test

api-test: ## Every route against the API's own document, with made-up requests (schemathesis from PyPI); EXAMPLES=50 each
	@.ci/api-test

audit: ## Known vulnerabilities of locked crates and npm packages; says what could not be looked at (npm, cargo-deny or cargo-audit)
	@.ci/audit

fuzz: ## Every decoder under a fuzzer (nightly compiler, cargo-fuzz); SECONDS=60 for each, TARGETS="claude codex" only these
	@SECONDS_EACH=$(or $(SECONDS),60) TARGETS="$(TARGETS)" .ci/fuzz

fmt: ## Format
	$(CARGO) fmt --all
