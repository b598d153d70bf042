# The two commands to know are `make run` and `make test`; `make` alone lists them all.
# Every target is a plain cargo command, so nothing here hides how a thing is built.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

CARGO ?= cargo
# A stale Cargo.lock fails here instead of changing under the hand. While you add a dependency: make test LOCKED=
LOCKED ?= --locked
# Vector files to run; give others with: make vectors VECTORS="a.json b.json"
VECTORS ?= vectors/expr-golden.json vectors/machine-conditions.json vectors/flow-conditions.json vectors/steps-conditions.json vectors/steps-runs.json vectors/flow-runs.json vectors/machine-runs.json vectors/session-runs.json vectors/session-load.json vectors/graph-runs.json
# Where stores of vectors lie. Nothing of them must survive a loss of power, so memory will do.
SCRATCH ?= $(or $(wildcard /dev/shm),/tmp)
# Seeds to simulate.
SEEDS ?= 0..20000
# Where cargo puts the program. If your cargo configuration says another place, set CARGO_TARGET_DIR to it.
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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: need-cargo ## show what it does: a tour of workflows and conditions
	$(CARGO) build --release $(LOCKED) -p branchpoint
	@BRANCHPOINT="$(BRANCHPOINT)" examples/tour.sh

.PHONY: test
test: setup fmt-check clippy unit doc vectors sim ## everything: format, lints, tests, repo checks, doc tests, vectors, simulation
	@echo 'everything passed: format, lints, tests, repo checks, doc tests, vectors, simulation'

.PHONY: test-long
test-long: ## the simulation over 200,000 seeds, other than those of `make test`
	@$(MAKE) sim SEEDS=1000000..1200000

.PHONY: test-quick
test-quick: setup fmt-check unit ## for daily work: format and tests, without lints, doc tests, vectors and simulation
	@echo 'quick tests passed: format, tests, repo checks (make test runs the rest)'

.PHONY: vectors
vectors: need-cargo ## the conformance vectors, optimised with assertions on
	@echo '== vectors'
	$(CARGO) run --profile sim $(LOCKED) -p branchpoint-sim --bin vectors -- $(VECTORS)
	@echo '== vectors of runs in a file that is opened anew after every event'
	TMPDIR=$(SCRATCH) $(CARGO) run --profile sim $(LOCKED) -p branchpoint-sim --bin vectors -- --host sqlite --crash-every-event $(filter %-runs.json,$(VECTORS))

.PHONY: sim
sim: need-cargo ## the simulation, optimised with assertions on; other seeds with: make sim SEEDS=7..8
	@echo '== simulation'
	$(CARGO) run --profile sim $(LOCKED) -p branchpoint-sim --bin sim -- --seeds $(SEEDS)

.PHONY: bench
bench: need-cargo ## our benchmarks
	$(CARGO) bench $(LOCKED) -p branchpoint-expr --bench conditions
	$(CARGO) bench $(LOCKED) -p branchpoint-core --bench advance
	$(CARGO) bench $(LOCKED) -p branchpoint-dialects --bench load
	$(CARGO) bench $(LOCKED) -p branchpoint-sim --bench sessions
	$(CARGO) bench $(LOCKED) -p branchpoint-sim --bench store
	$(CARGO) bench $(LOCKED) -p branchpoint-host --bench models

.PHONY: bench-peers
bench-peers: need-cargo ## the same conditions on other engines, beside ours (own lock file, builds for minutes)
	$(CARGO) bench $(LOCKED) --manifest-path benches/peers/Cargo.toml

.PHONY: fuzz-build
fuzz-build: need-cargo ## build the fuzz targets (own lock file)
	$(CARGO) build $(LOCKED) --manifest-path fuzz/Cargo.toml

# What cargo-fuzz sets, but for the sanitizers, which only a nightly toolchain has: coverage, assertions, overflow checks.
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

.PHONY: fmt
fmt: setup ## format the source
	$(CARGO) fmt --all

.PHONY: deny
deny: need-cargo ## licences, advisories, bans, sources (needs cargo-deny)
	@command -v cargo-deny >/dev/null || { echo 'make deny needs cargo-deny: cargo install --locked cargo-deny' >&2; exit 1; }
	$(CARGO) deny check

.PHONY: setup
setup: need-cargo ## check the tools; adds rustfmt and clippy if rustup can
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

# The parts of `make test`, each also good on its own.

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
