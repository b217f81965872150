# make demo and make test do all the set-up: Python packages in .venv, sandbox binaries in the cache.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Every process reads all the files that it is given; these have no unit test (tests/conftest.py).
WITHOUT_CLUSTERS := --ignore=tests/integration --ignore=tests/e2e
# Each process has a sandbox of its own. With EDL_KUBECONFIG all tests share one cluster, so they run in one process.
SIDE_BY_SIDE = $(if $(EDL_KUBECONFIG),-n 0,-n $(1) --dist loadfile --no-loadscope-reorder)
READY := $(VENV)/ready
# Seconds between two lines that show what pip does.
PROGRESS := 20
# A lane that ran fewer tests than this has lost some: it fails.
LEAST_UNIT_EDL := 5200
LEAST_UNIT_PLUGIN := 1850
LEAST_UNIT_WEBHOOK := 180
LEAST_UNIT_RECONCILER := 230
LEAST_UNIT_OTHERS := 1050
LEAST_LAWS := 500
LEAST_WEBHOOK_SLOW := 13
LEAST_INTEGRATION = $(if $(EDL_KUBECONFIG),300,$(if $(SANDBOX_PASSED),640,670))
LEAST_SMOKE := 55
LEAST_E2E = $(if $(WITHOUT_VARIANTS),$(if $(SANDBOX_PASSED),19,46),$(if $(SANDBOX_PASSED),33,60))
# `make test` trains each framework through a resize; its kills and modes are for `make e2e`.
VARIANTS := yes
WITHOUT_VARIANTS = $(if $(filter no,$(VARIANTS)), and not variant)
SANDBOX_RECORD = $(shell $(BIN)/python -m tests.sandbox_state)
# The record that tests of sandbox/ passed; empty if its sources have changed since.
SANDBOX_PASSED = $(wildcard $(SANDBOX_RECORD))
WITHOUT_PASSED = $(if $(TESTS),,$(if $(SANDBOX_PASSED), and not sandbox))
# The API server's answers, starts, resizes, restarts, refused starts, and devices, which the oldest release lacks.
SMOKE := $(patsubst %,tests/integration/test_%.py,cluster_contract_real elasticity refused_starts devices)
UNIT := unit-edl unit-plugin unit-webhook unit-reconciler unit-others
UNIT_TESTS := $(BIN)/pytest -q -m "not laws and not slow and not integration and not e2e and not torture"
# What the end-to-end tests run.
IMAGES := kubectl-edl tensorflow pytorch horovod mxnet paddle
# Sandboxes of this checkout; a cut-off run is cleaned up by `make down`.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Compiling hundreds of files anew in every process would cost more than the tests themselves.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint types unit $(UNIT) clusters laws laws-meanwhile webhook-slow integration matrix smoke e2e test-kind torture mutants images \
	bench pictures docs format setup binaries manifests dist \
	run-webhook run-reconciler constraints locks audit down clean check-tools

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' Makefile | sed 's/:.*## /\t/; s/\$$\$$/$$/g' | expand -t 20

demo: setup ## elastic jobs in 90 seconds; KEEP=1 leaves it up until the next demo of this checkout, REAL=1 trains on a real node
	@$(BIN)/python -m dev.demo $(if $(KEEP),--keep) $(if $(REAL),--real)

# Each run of `make test` draws the same examples; `make laws` by itself draws anew.
test: export EDL_DRAWS := fixed
test: check ## everything that must hold
	@$(MAKE) --no-print-directory -j 3 --output-sync=line clusters laws-meanwhile

# Types beside the tests: mypy without a cache takes 30 s of one processor, and tests wait.
check: lint ## format, lint, types, layers, unit tests that take a moment each
	@$(MAKE) --no-print-directory -j 6 --output-sync=line types $(UNIT)

lint: setup ## format and lint; `make format` applies the fixes
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .

types: setup ## mypy, and the layers of imports
	$(BIN)/python -m dev.type_check
	$(BIN)/lint-imports

unit: setup ## unit tests that take a moment each
	@$(MAKE) --no-print-directory -j 5 --output-sync=line $(UNIT)

# Processes, not workers of one run: each of these would collect all tests, and report every one.
unit-edl: setup
	$(UNIT_TESTS) --least $(LEAST_UNIT_EDL) tests/edl

unit-plugin: setup
	$(UNIT_TESTS) --least $(LEAST_UNIT_PLUGIN) tests/kubectl_edl

# They wait for time-outs more than they compute.
unit-webhook: setup
	$(UNIT_TESTS) --least $(LEAST_UNIT_WEBHOOK) tests/webhook

# 6 s of processor time in 100 s: one process would end after all others.
unit-reconciler: setup
	$(UNIT_TESTS) -n 2 --least $(LEAST_UNIT_RECONCILER) tests/reconciler

unit-others: setup
	$(UNIT_TESTS) --least $(LEAST_UNIT_OTHERS) --ignore=tests/edl --ignore=tests/kubectl_edl \
		--ignore=tests/webhook --ignore=tests/reconciler $(WITHOUT_CLUSTERS)

# Each process would collect all tests for 20 s: it gets the files with laws, and folders whose conftest.py marks them.
laws: setup ## unit tests that take their time, most of them property tests: the planner under every policy
	@$(BIN)/pytest -q -n 2 --least $(LEAST_LAWS) -m "laws or slow" $$(grep -rlE 'mark\.(laws|slow)' tests \
		--include='test_*.py' --include=conftest.py $(addprefix --exclude-dir=,integration e2e $(EXCEPT)) | sed 's,/conftest\.py$$,,')

# Trainings come after the API servers' tests: beside each other, both would wait for the processor.
# The record names the sources of before: make expands all lines before it runs the first. A line of
# its own, as make runs a line that names $(MAKE) in a dry run, too.
clusters: setup
	@$(MAKE) --no-print-directory webhook-slow \
		&& $(MAKE) --no-print-directory integration images \
		&& $(MAKE) --no-print-directory e2e VARIANTS=no
	@record="$(SANDBOX_RECORD)" && mkdir -p "$${record%/*}" && touch "$$record"

# With the processor time that tests of clusters leave while they wait: a law may have to wait, too.
laws-meanwhile: setup
	@PYTEST_TIMEOUT=1800 nice -n 19 $(MAKE) --no-print-directory laws EXCEPT=webhook

# They judge a server by its answers within seconds, and need a processor.
webhook-slow: setup
	$(BIN)/pytest -q -n 2 --least $(LEAST_WEBHOOK_SLOW) -m slow tests/webhook

# Go programs of sandboxes side by side have one thread each: handing work from one to another took
# a fifth of an idle sandbox's processor time, and of its start.
integration: setup binaries ## against a real API server: the sandbox's, or $$EDL_KUBECONFIG's
	GOMAXPROCS=1 $(BIN)/python -m tests.lane -q $(call SIDE_BY_SIDE,5) --least $(LEAST_INTEGRATION) -m "integration$(WITHOUT_PASSED)" \
		$(or $(TESTS),tests/integration tests/torture $(wildcard tests/attack))

matrix: setup ## the integration tests on every supported Kubernetes, into docs/compatibility.md; RELEASES="1.33 1.37" some
	$(BIN)/python -m tests.matrix $(RELEASES)

smoke: setup ## a few of them on the oldest supported Kubernetes
	@oldest=$$($(BIN)/python -c 'from sandbox.releases import RELEASES; print(RELEASES[0])') \
		&& export EDL_KUBERNETES=$$oldest \
		&& $(BIN)/python -m sandbox build \
		&& $(BIN)/pytest -q $(call SIDE_BY_SIDE,3) --least $(LEAST_SMOKE) -m integration $(SMOKE)

e2e: setup binaries images ## real pods that really train, on a real node; VARIANTS=no as `make test` runs it
	$(BIN)/python -m tests.lane -q $(call SIDE_BY_SIDE,3) --least $(LEAST_E2E) -m "e2e$(WITHOUT_PASSED)$(WITHOUT_VARIANTS)" \
		$(or $(TESTS),tests/e2e)

test-kind: setup binaries ## the integration tests on a kind cluster; needs a container engine
	$(BIN)/python -m sandbox.on_kind $(MAKE) integration

torture: setup binaries ## a thousand faults during churn, a million generated reviews; half an hour
	$(BIN)/pytest -q -m torture

mutants: setup ## does a test fail for each of the listed changes of one line? half an hour
	$(BIN)/python -m tests.mutants

# Where no real node can run, the tests say so themselves. Without `binaries`: packages are fetched while Go compiles.
images: setup
	@! $(BIN)/python -m sandbox.real || nice -n 10 $(BIN)/python -m dev.images build $(IMAGES)

bench: setup binaries ## measured figures, into benchmarks/README.md; ONLY=decide,holding renews these sections
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))

pictures: setup binaries ## the dashboard's pictures, into docs/images
	$(BIN)/python -m dev.pictures

docs: setup ## the documentation as a site, into dist/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q

format: setup ## the formatter's and the linter's own fixes
	$(BIN)/ruff format -q .
	$(BIN)/ruff check -q --fix .

manifests: setup binaries ## the chart's files from the base, and the Grafana dashboard
	$(BIN)/python -m manifests.render
	$(BIN)/python -m manifests.monitoring

dist: setup ## wheel, krew's archives and manifest, bill of Python packages: make dist HOMEPAGE=… URL=…
	$(BIN)/python -m manifests.dist --homepage "$(HOMEPAGE)" --url "$(URL)"

run-webhook: setup ## the webhook in this shell, on the cluster of $$KUBECONFIG
	$(BIN)/python -m dev.run webhook

run-reconciler: setup ## the reconciler in this shell, on the cluster of $$KUBECONFIG
	$(BIN)/python -m dev.run reconciler

setup: $(READY)

binaries: $(READY)
	@$(BIN)/python -m sandbox build --all

$(READY): pyproject.toml constraints.txt | check-tools
	@echo "setting up $(VENV): Python packages; once, some minutes"
	@$(PYTHON) -m venv $(VENV)
	@failed=; { seconds=0; while sleep 1 && kill -0 $$$$ 2>/dev/null; do \
			seconds=$$((seconds + 1)); \
			[ $$((seconds % $(PROGRESS))) -ne 0 ] || echo "  $$seconds s: $$(tail -n 1 $(VENV)/setup.log | cut -c 1-90)"; \
		done; } & progress=$$!; \
		$(BIN)/pip install --disable-pip-version-check --no-compile --progress-bar off -c constraints.txt -e '.[dev]' \
			>$(VENV)/setup.log 2>&1 || { cat $(VENV)/setup.log; failed=yes; }; \
		kill $$progress; test -z "$$failed"
	@touch $@

check-tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "missing: Python 3.11 or newer (apt-get install python3), or name one: make PYTHON=…"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "missing: Python's venv module (apt-get install python3-venv)"; exit 1; }
	@test -n "$$EDL_BINARIES$$EDL_KUBECONFIG" || command -v go >/dev/null \
		|| { echo "missing: Go 1.26 or newer, which builds the sandbox's Kubernetes (go.dev/dl), or a folder of binaries in EDL_BINARIES"; exit 1; }

constraints: ## the newest versions that pyproject.toml allows: constraints.txt and the locks
	@rm -rf $(VENV)/newest && $(PYTHON) -m venv $(VENV)/newest
	@$(VENV)/newest/bin/pip install -q --disable-pip-version-check '.[dev]'
	@{ echo '# The versions that `make` sets up and that the tests have seen. Renew: make constraints'; \
		$(VENV)/newest/bin/pip freeze --exclude kubectl-edl; } > constraints.txt
	@rm -rf $(VENV)/newest
	@$(MAKE) --no-print-directory locks

# For the oldest Python that is supported, which is the image's.
locks: $(VENV)/locks ## the checksums of what constraints.txt names, into requirements*.lock
	@for lock in requirements.lock 'requirements-dev.lock --extra dev'; do \
		$(VENV)/locks/bin/uv pip compile -q pyproject.toml -c constraints.txt --python-version 3.11.7 \
			--generate-hashes --no-annotate --custom-compile-command 'make constraints' -o $$lock >/dev/null || exit 1; done
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		| $(VENV)/locks/bin/uv pip compile -q - -c constraints.txt --python-version 3.11.7 --no-annotate \
			--generate-hashes --custom-compile-command 'make constraints' -o requirements-build.lock >/dev/null

$(VENV)/locks:
	@$(PYTHON) -m venv $@ && $@/bin/pip install -q --disable-pip-version-check 'uv>=0.9' || { rm -rf $@; exit 1; }

audit: $(VENV)/audit ## known vulnerabilities of the pinned packages; asks PyPI's database
	@$(VENV)/audit/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes \
		-r requirements-dev.lock -r requirements-build.lock \
		|| { echo "audit: not passed: a vulnerability is named above, or the database could not be asked from here"; exit 1; }

$(VENV)/audit:
	@$(PYTHON) -m venv $@ && $@/bin/pip install -q --disable-pip-version-check 'pip-audit>=2.9' || { rm -rf $@; exit 1; }

down: setup ## end the sandboxes that this checkout started and remove their state; ALL=1: every sandbox of this user
	@$(BIN)/python -m sandbox down $(if $(ALL),--all,--checkout)

clean: ## remove what make set up here (not the cache of binaries)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
