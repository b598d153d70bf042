# The two main commands are `make run` and `make test`; `make` alone lists all targets.
# Every target is a plain cargo or npm command.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

CARGO ?= cargo
# A stale Cargo.lock is an error. While you add a dependency: make test LOCKED=
LOCKED ?= --locked
# Vector files to run; give others with: make vectors VECTORS="a.json b.json"
VECTORS ?= vectors/expr-golden.json vectors/machine-conditions.json vectors/flow-conditions.json vectors/steps-conditions.json vectors/steps-runs.json vectors/flow-runs.json vectors/machine-runs.json vectors/session-runs.json vectors/session-load.json vectors/graph-runs.json
# The folder for stores of vectors. They need not survive a power loss, so memory is enough.
SCRATCH ?= $(or $(wildcard /dev/shm),/tmp)
# Seeds to simulate.
SEEDS ?= 0..20000
# The address of `make run`.
LISTEN ?= 127.0.0.1:8080
# The built program. If your cargo configuration has another target folder, set CARGO_TARGET_DIR to it.
BRANCHPOINT := $(or $(CARGO_TARGET_DIR),target)/release/branchpoint

# The tests without doc tests: nextest where it is installed, because it is faster and prints less.
ifneq ($(shell command -v cargo-nextest 2>/dev/null),)
TESTS := $(CARGO) nextest run --workspace $(LOCKED)
else
TESTS := $(CARGO) test --workspace $(LOCKED) --lib --bins --tests --examples
endif

.PHONY: help
help: ## list the targets
	@echo 'Branchpoint. Targets:'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: need-cargo ## build the web page and the program, and serve the examples on this machine
	@if command -v npm >/dev/null; then $(MAKE) web; else \
	    echo 'npm is not on the PATH, so the program is built without the web page. Install Node.js 20 or newer to get it.' >&2; fi
	$(CARGO) build --release $(LOCKED) -p branchpoint
	@echo 'Ctrl-C stops the server. Another port: make run LISTEN=127.0.0.1:9000'
	@$(BRANCHPOINT) serve --demo --listen $(LISTEN)

.PHONY: tour
tour: need-cargo ## build the program and show a tour of workflows and conditions in the terminal
	$(CARGO) build --release $(LOCKED) -p branchpoint
	@BRANCHPOINT="$(BRANCHPOINT)" examples/tour.sh

.PHONY: web
web: need-npm web/node_modules ## build the web page into web/dist, which the next build of the program contains
	cd web && npm run --silent build

web/node_modules: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --silent
	@touch web/node_modules

.PHONY: need-npm
need-npm:
	@command -v npm >/dev/null || { echo 'npm is not on the PATH. Install Node.js 20 or newer (https://nodejs.org), then try again.' >&2; exit 1; }

.PHONY: test
test: setup fmt-check web-test clippy unit doc e2e-test vectors sim ## run everything: format, lints, tests, repo checks, doc tests, browser tests, vectors, simulation
	@echo 'everything passed: format, lints, tests, repo checks, doc tests, browser tests, vectors, simulation'

.PHONY: test-long
test-long: ## run the simulation over 200,000 other seeds
	@$(MAKE) sim SEEDS=1000000..1200000

.PHONY: test-quick
test-quick: setup fmt-check unit ## format and tests only, for daily work
	@echo 'quick tests passed: format, tests, repo checks (make test runs the rest)'

.PHONY: vectors
vectors: need-cargo ## run the conformance vectors, optimised and with assertions
	@echo '== vectors'
	$(CARGO) run --profile sim $(LOCKED) -p branchpoint-sim --bin vectors -- $(VECTORS)
	@echo '== vectors of runs in a store that is reopened after every event'
	TMPDIR=$(SCRATCH) $(CARGO) run --profile sim $(LOCKED) -p branchpoint-sim --bin vectors -- --host sqlite --crash-every-event $(filter %-runs.json,$(VECTORS))

# The version of the Restate server that is tested. RESTATE_SERVER is the path of another one.
RESTATE_VERSION ?= 1.7.12

.PHONY: restate
restate: need-npm ## install the Restate server that the tests use, in target/restate
	@npm install --prefix target/restate --ignore-scripts --no-audit --no-fund --silent @restatedev/restate-server@$(RESTATE_VERSION)

.PHONY: test-restate
test-restate: need-cargo $(if $(RESTATE_SERVER),,restate) ## run the vectors of runs and the tests of the Restate host on a real server
	$(CARGO) run $(LOCKED) -p branchpoint-sim --bin vectors -- --host restate $(filter %-runs.json,$(VECTORS))
	RESTATE_SERVER="$(abspath $(or $(RESTATE_SERVER),$(firstword $(wildcard target/restate/node_modules/@restatedev/restate-server-*/bin/restate-server))))" \
	    $(CARGO) test $(LOCKED) -p branchpoint-sim --test restate -- --ignored --test-threads 1

.PHONY: bench-restate
bench-restate: need-cargo $(if $(RESTATE_SERVER),,restate) ## measure workflows on Restate beside a plain handler
	RESTATE_SERVER="$(abspath $(or $(RESTATE_SERVER),$(firstword $(wildcard target/restate/node_modules/@restatedev/restate-server-*/bin/restate-server))))" \
	    $(CARGO) bench $(LOCKED) -p branchpoint-sim --bench restate

.PHONY: sim
sim: need-cargo ## run the simulation; other seeds with: make sim SEEDS=7..8
	@echo '== simulation'
	$(CARGO) run --profile sim $(LOCKED) -p branchpoint-sim --bin sim -- --seeds $(SEEDS)

.PHONY: bench
bench: need-cargo ## run our benchmarks
	$(CARGO) bench $(LOCKED) -p branchpoint-expr --bench conditions
	$(CARGO) bench $(LOCKED) -p branchpoint-core --bench advance
	$(CARGO) bench $(LOCKED) -p branchpoint-dialects --bench load
	$(CARGO) bench $(LOCKED) -p branchpoint-sim --bench sessions
	$(CARGO) bench $(LOCKED) -p branchpoint-sim --bench store
	$(CARGO) bench $(LOCKED) -p branchpoint-host --bench models
	$(CARGO) bench $(LOCKED) -p branchpoint-host --bench knowledge

.PHONY: bench-server
bench-server: need-cargo ## run the load benchmark of the server (some minutes)
	$(CARGO) bench $(LOCKED) -p branchpoint --bench serve

.PHONY: bench-peers
bench-peers: need-cargo ## run the same conditions on other engines (own lock file, long build)
	$(CARGO) bench $(LOCKED) --manifest-path benches/peers/Cargo.toml

.PHONY: fuzz-build
fuzz-build: need-cargo ## build the fuzz targets (own lock file)
	$(CARGO) build $(LOCKED) --manifest-path fuzz/Cargo.toml

# The flags of cargo-fuzz without the sanitizers, which need a nightly toolchain: coverage, assertions, overflow checks.
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Coverflow-checks
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
TARGET ?= expression
SECONDS ?= 60

.PHONY: fuzz
fuzz: need-cargo ## run a fuzz target for a while: make fuzz TARGET=reader SECONDS=600
	RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --release $(LOCKED) --manifest-path fuzz/Cargo.toml --target $(HOST) --target-dir fuzz/target
	@mkdir -p fuzz/corpus/$(TARGET) fuzz/artifacts
	fuzz/target/$(HOST)/release/$(TARGET) -max_total_time=$(SECONDS) -max_len=4096 -timeout=10 -rss_limit_mb=4096 \
	    -artifact_prefix=fuzz/artifacts/$(TARGET)- fuzz/corpus/$(TARGET)

.PHONY: book
book: ## build the documentation as a book in target/book (needs mdbook)
	@command -v mdbook >/dev/null || { echo 'make book needs mdbook: cargo install --locked mdbook' >&2; exit 1; }
	mdbook build

.PHONY: api
api: need-cargo ## renew the OpenAPI document and the types of the web page (after a change of the API)
	UPDATE_OPENAPI=1 $(CARGO) test $(LOCKED) -p branchpoint-server --lib openapi
	node web/dev/api-types.mjs

# The generated requests of each operation: make schemathesis EXAMPLES=100
EXAMPLES ?= 25

.PHONY: schemathesis
schemathesis: need-cargo ## check a running server against its OpenAPI document, with Schemathesis (needs python3)
	$(CARGO) build $(LOCKED) -p branchpoint
	BRANCHPOINT_BIN="$(abspath $(or $(CARGO_TARGET_DIR),target)/debug/branchpoint)" .ci/schemathesis $(EXAMPLES)

# A part of the browser tests, by file name: make e2e ONLY=sessions
ONLY ?=

.PHONY: e2e
e2e: web ## run the browser tests on the built program
	$(CARGO) build $(LOCKED) -p branchpoint
	BRANCHPOINT_BIN="$(abspath $(or $(CARGO_TARGET_DIR),target)/debug/branchpoint)" node web/e2e/run.mjs $(ONLY)

.PHONY: screens
screens: web ## write screenshots of every page to docs/screens
	$(CARGO) build $(LOCKED) -p branchpoint
	BRANCHPOINT_BIN="$(abspath $(or $(CARGO_TARGET_DIR),target)/debug/branchpoint)" node web/e2e/run.mjs --screens

.PHONY: lighthouse
lighthouse: web ## check every page with Lighthouse, which npx downloads
	$(CARGO) build $(LOCKED) -p branchpoint
	BRANCHPOINT_BIN="$(abspath $(or $(CARGO_TARGET_DIR),target)/debug/branchpoint)" node web/e2e/run.mjs --lighthouse

.PHONY: fmt
fmt: setup ## format the source
	$(CARGO) fmt --all

.PHONY: deny
deny: need-cargo ## check licences, advisories, bans and sources (needs cargo-deny)
	@command -v cargo-deny >/dev/null || { echo 'make deny needs cargo-deny: cargo install --locked cargo-deny' >&2; exit 1; }
	$(CARGO) deny check

.PHONY: setup
setup: need-cargo ## check the tools; add rustfmt and clippy where rustup can
	@for tool in rustfmt clippy; do \
	    case $$tool in rustfmt) probe=fmt;; *) probe=clippy;; esac; \
	    $(CARGO) $$probe --version >/dev/null 2>&1 && continue; \
	    if command -v rustup >/dev/null; then \
	        echo "The $$tool component is missing; adding it: rustup component add $$tool"; \
	        rustup component add $$tool && continue; \
	    fi; \
	    echo "The $$tool component of Rust is missing and could not be added. Install it with your package manager, or with rustup: rustup component add $$tool" >&2; \
	    exit 1; \
	done

# The parts of `make test`; each can be run alone.

# Without npm the page and its tests are skipped with a notice; with CI=true that is a failure.
NO_NPM = { echo '*** $(1) SKIPPED: npm is not on the PATH. Install Node.js 20 or newer. ***' >&2; [ "$${CI:-}" != true ]; }

.PHONY: web-test
web-test:
	@echo '== web page: types, tests, build'
	@if command -v npm >/dev/null; then $(MAKE) web && cd web && npm run --silent test; else $(call NO_NPM,TESTS OF THE WEB PAGE); fi

.PHONY: e2e-test
e2e-test:
	@echo '== browser tests'
	@if command -v npm >/dev/null; then $(MAKE) e2e; else $(call NO_NPM,BROWSER TESTS); fi

.PHONY: need-cargo
need-cargo:
	@command -v cc >/dev/null || { echo 'There is no C compiler on the PATH, and SQLite is built with one. Debian has it as: apt-get install build-essential' >&2; exit 1; }
	@command -v $(CARGO) >/dev/null || { echo 'cargo is not on the PATH. Install Rust 1.95 or newer (https://rustup.rs), then try again.' >&2; exit 1; }

.PHONY: fmt-check
fmt-check:
	@echo '== format'
	$(CARGO) fmt --all --check

.PHONY: clippy
clippy:
	@echo '== lints'
	$(CARGO) clippy --workspace --all-targets $(LOCKED) -- -D warnings

.PHONY: unit
unit:
	@echo '== tests and repo checks'
	$(TESTS)

.PHONY: doc
doc:
	@echo '== doc tests'
	$(CARGO) test --workspace --doc $(LOCKED)
