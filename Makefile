# Two commands do everything, set-up included, on a machine with Python 3.11, 3.12 or 3.13:
#
#   make demo    compare three methods on three data sets, log all runs, draw a tree
#   make test    run the tests, but for the slow ones
#
# also: make test-all (every test), make test-thorough (every test, on seven times as many tables, with compiled kernels), make test-next (sweeps with the newest Hydra and MLflow), make test-ray (sweeps, and rows, on a Ray cluster), make explore (property tests on new examples), make setup, make lock (new pins), make docs (generated pages), make site (the documentation as a site), make lint (layout, rules and types), make clean
# Choose an interpreter with PYTHON=…, another folder for the environment with VENV=…, processes for the tests with WORKERS=….

SHELL := /bin/sh
PYTHON ?=
VENV ?= .venv
BIN := $(VENV)/bin
NEXT := $(VENV)/next
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
STAMP := $(VENV)/.installed
DEMO ?= runs/demo
UV ?= uv
WORKERS ?= 2
PYTEST_ARGS ?=
# K/N: make test-all runs of the slow tests the Kth of N parts.
TURN ?=
CANDIDATES := python3 python3.13 python3.12 python3.11 python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Byte code is written: tests start the command some hundred times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all test-thorough test-next test-ray explore setup lint lock docs site clean
.DELETE_ON_ERROR:

demo: $(STAMP)
	@$(BIN)/arboretum run -m dataset=iris,wine,wdbc method=cart,id3,random seed=1,2,3 hydra.sweep.dir=$(DEMO)
	@echo
	@$(BIN)/arboretum show $(DEMO)/0
	@echo
	@echo "Browse all runs:  $(BIN)/arboretum ui"

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" --hypothesis-profile=brief $(PYTEST_ARGS)

test-all: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(if $(TURN),--turn $(TURN)) $(PYTEST_ARGS)

test-thorough: $(STAMP)
	ARBORETUM_KERNELS=compiled $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --hypothesis-profile=thorough $(PYTEST_ARGS)

# Pins say what was tried, not what comes: sweeps with the newest Hydra, pre-releases too, and the newest MLflow, in an environment
# that has these alone, on top of the first one.
test-next: $(STAMP)
	@$(BIN)/python -m venv --clear --without-pip $(NEXT)
	@within=$$($(NEXT)/bin/python $(PURELIB)) && outer=$$($(BIN)/python $(PURELIB)) && \
	  echo "import site; site.addsitedir('$$outer')" > "$$within/outer.pth" && \
	  $(BIN)/python -m pip install -q --pre --target "$$within" "hydra-core>=1.3.8,<1.5" && \
	  $(BIN)/python -m pip install -q --no-deps --target "$$within" "mlflow>=3.10,<4"
	@$(NEXT)/bin/python -c 'import hydra, mlflow.version; print("with Hydra", hydra.__version__, "and MLflow", mlflow.version.VERSION)'
	$(NEXT)/bin/python -m pytest -n $(WORKERS) --dist worksteal tests/cli/test_sweep.py tests/cli/test_sweep_tracker.py tests/cli/test_sweep_jobs.py plugins/arboretum_mlflow/tests/test_sweeps.py $(PYTEST_ARGS)

# Ray's launcher asks for older packages than the pins, and works with these: it is laid on top of them.
test-ray: $(STAMP)
	@$(BIN)/python -m venv --clear --without-pip $(VENV)/ray
	@within=$$($(VENV)/ray/bin/python $(PURELIB)) && outer=$$($(BIN)/python $(PURELIB)) && \
	  echo "import site; site.addsitedir('$$outer')" > "$$within/outer.pth" && \
	  $(BIN)/python -m pip install -q --no-deps --target "$$within" "ray>=2.40" "hydra-ray-launcher>=1.2.2" \
	    filelock jsonschema jsonschema-specifications msgpack referencing rpds-py
	$(VENV)/ray/bin/python -m pytest tests/cli/test_ray.py plugins/arboretum_ray $(PYTEST_ARGS)

explore: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m hypothesis --hypothesis-profile=explore $(PYTEST_ARGS)

setup: $(STAMP)

lint: $(STAMP)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary

# The stamp is renewed when the pins or the packaging change.  antlr4-python3-runtime comes as source only, so that its
# build backend, setuptools, is installed from the same pins before it.  What is never imported is not compiled to byte code,
# which took half of the set-up; the rest is at its first import.
$(STAMP): requirements.lock pyproject.toml
	@found=; for candidate in $(if $(PYTHON),$(PYTHON),$(CANDIDATES)); do \
	  if "$$candidate" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1; \
	  then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "no usable Python: need 3.11, 3.12 or 3.13 with the modules venv and ensurepip;" \
	    "install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; \
	fi; \
	if ! $(BIN)/python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1; then \
	  echo "setting up $(VENV) with $$found (once; takes a minute or two)"; \
	  "$$found" -m venv --clear $(VENV); \
	fi
	@sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock > $(VENV)/first.lock
	@$(BIN)/python -m pip install -q --require-hashes --no-deps -r $(VENV)/first.lock
	@$(BIN)/python -m pip install -q --no-compile --require-hashes --no-build-isolation -r requirements.lock
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $(STAMP)

# Pins for 3.11 to 3.13 at once, with hashes and markers, without the address of any index.
lock:
	$(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-annotate --no-header --upgrade requirements.in -o requirements.lock

docs: $(STAMP)
	$(BIN)/python docs/reference/generate.py

# The pages' links are those of a checkout, so the site is built from a copy of its folders.
SITE := build/site
site: $(STAMP)
	@rm -rf $(SITE)/source && mkdir -p $(SITE)/source
	@tar -c --exclude=__pycache__ README.md CHANGELOG.md CONTRIBUTING.md LICENSE docs framework plugins experiments conf | tar -x -C $(SITE)/source
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 $(SPHINXOPTS) -c $(SITE)/source/docs/site $(SITE)/source $(SITE)/html
	@echo "open $(SITE)/html/index.html"

clean:
	rm -rf $(VENV) runs outputs multirun mlruns mlflow.db build dist .pytest_cache .hypothesis .mypy_cache
	find framework plugins tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
