# Needs Python 3.11, 3.12 or 3.13 and make, nothing else. Everything is installed into .venv.
#
#   make audit PYTHON=python3.12                       to choose the interpreter
#   make test PYTEST_ARGS="-k version"                 to pass arguments on

VENV := .venv
BIN := $(VENV)/bin
# The supported Python 3 minors; pyproject.toml states the same in requires-python.
OLDEST := 11
NEWEST := 13
AUDIT_ARGS ?= examples/first/audits.toml --no-store --out audit-report

# What was installed is written down inside .venv, so that it is forgotten together with it.
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev
LISTS := pyproject.toml constraints.txt

# Tests start hundreds of programs: none of them should compile the package again, nor two at once.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help audit test quick cluster packages tensors training docs docs-test mutants attack-proofs peers dpriv-bench proofs checkdp prove-diffprivlib published deployments statements examples personas faults release lint types wheelhouse bench constraints clean
# Two pips in one .venv would trip over each other, and the jobs below use every core themselves.
.NOTPARALLEL:

help:
	@echo 'make audit        refute a function and prove its repair; report in audit-report/'
	@echo 'make test         run the fast tests           (PYTEST_ARGS="-m slow" for the slow ones)'
	@echo 'make quick        run the tests that tests/quick.txt lists, from every room in 90 seconds'
	@echo 'make cluster      run the tests of backends on real clusters of dask and ray'
	@echo 'make packages     scan every package with a card, each in an environment of its own; hours'
	@echo 'make tensors      run the tests of arrays of torch and jax, with those two installed'
	@echo 'make docs         build the documentation in build/docs, every warning an error'
	@echo 'make docs-test    run all it shows, and look at every page in Chromium'
	@echo 'make training     run recipes of training with opacus, torch and jax, in their own environment'
	@echo 'make mutants      see that every seeded fault fails a test, 40 minutes at most on two cores'
	@echo 'make attack-proofs  seek a pair worse than proved, for generated programs (ATTACK_ARGS=...)'
	@echo 'make peers        measure other packages on the same work, and write docs/peers.md'
	@echo 'make dpriv-bench  audit the questions of DPriv-Bench, and write docs/dpriv-bench.md'
	@echo 'make proofs       prove example programs, and write docs/proved-programs.md'
	@echo 'make checkdp      prove or refute the programs of CheckDP, and write docs/checkdp.md'
	@echo 'make prove-diffprivlib  prove the regression of diffprivlib, or name the line that stops the proof'
	@echo 'make published    divide published bounds by exact ones, and write docs/published-bounds.md'
	@echo 'make deployments  write docs/deployments.md; DEPLOYMENTS=FOLDER reads the records of a registry anew'
	@echo 'make statements   judge every statement of the papers, and write docs/statements.md and the headlines'
	@echo 'make examples     run the twelve examples and the notebooks, write their pages, those of loops and recursions'
	@echo 'make faults       run what finds each kind of fault, and write the pages of docs/faults'
	@echo 'make personas     let four personas go their way, from a fresh clone and from the wheel; minutes'
	@echo 'make release      build sdist and wheel, check both, try the wheel on every supported Python'
	@echo 'make lint         check the style and the format'
	@echo 'make types        check the types'
	@echo 'make wheelhouse   gather all wheels, to build the Dockerfile or install without a network'
	@echo 'make bench        run the benchmarks'
	@echo 'make constraints  pin the newest release of every dependency in constraints.txt'
	@echo 'make clean        delete .venv, caches and build leftovers; reports stay'

# What is refuted there is refuted on purpose; with arguments of your own the status is the verdict's.
audit: $(RUNTIME)
	@$(BIN)/dpaudit audit $(AUDIT_ARGS) $(if $(filter file,$(origin AUDIT_ARGS)),|| test $$? -eq 1)

test: $(DEV)
	@$(BIN)/python -m compileall -q -j 0 dpaudit algorithms attacks
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile $(PYTEST_ARGS)

# Whole files go to the workers, so that what a file prepares is prepared once.
quick: $(DEV)
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile $$(grep -v '^#' tests/quick.txt) $(PYTEST_ARGS)

# Real clusters of dask and ray on this machine, in an environment of their own.
CLUSTER := build/cluster
cluster: $(CLUSTER)/.installed
	$(CLUSTER)/bin/python -m pytest -m 'slow or not slow' tests/backends $(PYTEST_ARGS)

$(CLUSTER)/.installed: INSTALLS = --editable '.[dev,dask,ray]'

# Every version that a card names; PACKAGES_ARGS="diffprivlib --time 300" chooses.
packages: $(DEV)
	@$(BIN)/python -m tests.scan.every_package $(PACKAGES_ARGS)

# Arrays of torch and jax, in an environment of their own: they take gigabytes, and torch wants
# an older mpmath than is pinned.
TENSORS := build/tensors
tensors: $(TENSORS)/.installed
	$(TENSORS)/bin/python -m pytest tests/laws/test_tensors.py $(PYTEST_ARGS)

$(TENSORS)/.installed: tests/laws/tensors.txt
$(TENSORS)/.installed: INSTALLS = --editable '.[dev]' --requirement tests/laws/tensors.txt
$(TENSORS)/.installed: UNPINNED = mpmath

# The site, in an environment of its own; seconds once that is installed.
DOCS := build/docs-env
docs: $(DOCS)/.installed
	@$(DOCS)/bin/python docs/site/build.py

docs-test: docs $(DOCS)/.extras build/axe/node_modules
	$(DOCS)/bin/python -m pytest -m 'slow or not slow' tests/docs tests/test_readme.py $(PYTEST_ARGS)

$(DOCS)/.installed: docs/site/requirements.txt
$(DOCS)/.installed: INSTALLS = --editable '.[dev]' --requirement docs/site/requirements.txt

# The libraries that blocks of code ask for with `<!-- run: with LIBRARY -->`; the site needs none.
$(DOCS)/.extras: $(DOCS)/.installed tests/docs/extras.txt
	$(DOCS)/bin/python -m pip install --quiet --constraint constraints.txt --requirement tests/docs/extras.txt
	@touch $@

# axe-core, whose findings the pages must not have.
build/axe/node_modules: tests/docs/axe/package-lock.json
	@mkdir -p build/axe && cp tests/docs/axe/*.json build/axe && cd build/axe && npm ci --silent

# Recipes of training and their broken twins, with the libraries that train; jax-privacy wants an
# older attrs than is pinned, and torch an older mpmath.
TRAINING := build/training
training: $(TRAINING)/.installed
	$(TRAINING)/bin/python -m pytest -m 'slow or not slow' tests/training $(PYTEST_ARGS)

$(TRAINING)/.installed: tests/training/training.txt
$(TRAINING)/.installed: INSTALLS = --editable '.[dev]' --requirement tests/training/training.txt
$(TRAINING)/.installed: UNPINNED = attrs mpmath

mutants: $(DEV)
	@$(BIN)/python -m tests.mutants.run $(if $(FAULT),--fault '$(FAULT)') $(MUTANTS_ARGS)

# Programs of a range of seeds; what build/attack.jsonl holds is not done again.
attack-proofs: $(DEV)
	@mkdir -p build
	@$(BIN)/python -m tests.proving.attack --journal build/attack.jsonl $(ATTACK_ARGS)

# Other packages, each in an environment of its own; PEERS_ARGS="--quick" takes less data.
peers: $(DEV)
	@$(BIN)/python -m benchmarks.peers.run $(PEERS_ARGS)

# No dataset given: verdicts beside labels; DPRIV_ARGS=--resume goes on where a run was ended.
dpriv-bench: $(DEV)
	@$(BIN)/python -m benchmarks.dpriv_bench.run $(DPRIV_ARGS)

# Twins, mechanisms, training loops and CheckDP's programs; a minute.
proofs: $(DEV)
	@$(BIN)/python -m benchmarks.proofs.run $(PROOFS_ARGS)

# CheckDP's programs: proofs of the right ones, and audits of the wrong ones; minutes.
checkdp: $(DEV)
	@$(BIN)/python -m benchmarks.checkdp.run $(CHECKDP_ARGS)

# diffprivlib's regression, through its own code, in an environment of its own.
DIFFPRIVLIB := build/diffprivlib
prove-diffprivlib: $(DIFFPRIVLIB)/.installed
	@$(DIFFPRIVLIB)/bin/python -m benchmarks.proofs.diffprivlib

$(DIFFPRIVLIB)/.installed: benchmarks/proofs/diffprivlib.txt
$(DIFFPRIVLIB)/.installed: INSTALLS = --editable '.[dev]' --requirement benchmarks/proofs/diffprivlib.txt
$(DIFFPRIVLIB)/.installed: UNPINNED = scikit-learn

# Bounds of papers over what is exact; a minute.
published: $(DEV)
	@$(BIN)/python -m benchmarks.published.run $(PUBLISHED_ARGS)

# Statements of deployments, of their stored facts; DEPLOYMENTS is a checkout of the registry.
deployments: $(DEV)
	@$(BIN)/python -m tests.deployments.pages $(DEPLOYMENTS)

# Every statement of the papers, its verdict computed anew; seconds.
statements: $(DEV)
	@$(BIN)/python -m tests.ledger.pages

# What scripts and notebooks print and show becomes part of the documentation.
examples: $(DEV)
	@$(BIN)/python -m tests.examples.pages
	@$(BIN)/python -m tests.examples.pictures
	@$(BIN)/python -m tests.examples.loops
	@$(BIN)/python -m tests.examples.recursions
	@$(BIN)/python -m tests.notebooks.executed

# A page for each kind of fault: what finds it is run, and what that prints is shown; minutes.
faults: $(DEV)
	@$(BIN)/python -m tests.faults.pages $(FAULTS_ARGS)

# What docs/first-hour.md shows, in environments of its own; PERSONAS_ARGS="reviewer --source wheel".
personas: $(DEV)
	@$(BIN)/python -m tests.personas.run $(PERSONAS_ARGS)

# Needs every supported Python, on the path or from pyenv or uv; ALLOW_MISSING=1 does with fewer.
RELEASE := build/release
release: $(RELEASE)/.installed
	@$(RELEASE)/bin/python -m tests.release.run $(if $(ALLOW_MISSING),--allow-missing) $(RELEASE_ARGS)

$(RELEASE)/.installed: tests/release/requirements.txt
$(RELEASE)/.installed: INSTALLS = --requirement tests/release/requirements.txt

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/python -m mypy --package dpaudit

# Wheels of dpaudit and of all that it needs, for the Python of the Dockerfile on Linux and the
# processor of this machine: with them an image is built, or another machine set up, with no network.
WHEELHOUSE := build/wheelhouse
WHEELHOUSE_PYTHON ?= 3.12
wheelhouse: $(RUNTIME)
	rm -rf $(WHEELHOUSE) && mkdir -p $(WHEELHOUSE)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEELHOUSE) .
	$(BIN)/python -m pip download --quiet --dest $(WHEELHOUSE) --constraint constraints.txt \
	  --only-binary :all: --python-version $(WHEELHOUSE_PYTHON) \
	  $(foreach libc,_2_28 _2_27 _2_26 _2_24 2014,--platform manylinux$(libc)_$(shell uname -m)) \
	  $(WHEELHOUSE)/dpaudit-*.whl
	@echo "$$(ls $(WHEELHOUSE) | wc -l) wheels in $(WHEELHOUSE), $$(du -sh $(WHEELHOUSE) | cut -f1)"

bench: $(DEV)
	@set -e; for script in benchmarks/[!_]*.py; do \
	  test -e "$$script" || { echo 'There are no benchmarks yet.' >&2; exit 1; }; \
	  echo "== $$script"; $(BIN)/python "$$script" $(BENCH_ARGS); \
	done

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

# The oldest Python decides what can be pinned: a release that dropped it is of no use here.
constraints:
	@$(call find-python,$(OLDEST),$(OLDEST)); \
	set -e; rm -rf build/pins; "$$found" -m venv build/pins; \
	echo 'Resolving the newest releases for Python 3.$(OLDEST) ...'; \
	build/pins/bin/python -m pip install --quiet --editable '.[dev,parquet,dask,ray]'; \
	{ grep '^#' constraints.txt; \
	  build/pins/bin/python -m pip freeze --exclude-editable; } > build/constraints.txt; \
	mv build/constraints.txt constraints.txt; rm -rf build/pins

# An environment of its own: INSTALLS says what pip gets, UNPINNED which pins its libraries refuse.
build/%/.installed: $(LISTS)
	@$(call find-python,$(OLDEST),$(NEWEST)); \
	echo "Creating build/$* with $$found"; "$$found" -m venv --clear build/$*
	@grep -v -e '^#' $(foreach pin,$(UNPINNED),-e '^$(pin)==') constraints.txt > build/$*/constraints.txt
	build/$*/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint build/$*/constraints.txt $(INSTALLS)
	@touch $@

$(RUNTIME): $(LISTS) | $(BIN)/python
	$(call install,.)

# The dev extra contains the runtime, so one stamp less is out of date.
$(DEV): $(LISTS) | $(BIN)/python
	$(call install,.[dev])
	@touch $(RUNTIME)

# Reached when .venv is missing, or when the interpreter that it pointed at is gone.
$(BIN)/python:
	@$(call find-python,$(OLDEST),$(NEWEST)); \
	echo "Creating $(VENV) with $$found"; "$$found" -m venv --clear $(VENV)

# $(call is-python,11,13): a Python expression, true on Python 3.11 to 3.13.
is-python = sys.version_info[0] == 3 and $(1) <= sys.version_info[1] <= $(2)

# $(call find-python,11,13): sets $$found, or says in one line what is missing.
# A candidate has to run: version managers leave names on the PATH that do not.
define find-python
set -- python3 python3.13 python3.12 python3.11 python; \
if test -n '$(PYTHON)'; then set -- '$(PYTHON)'; fi; found=; \
for python; do \
  "$$python" -c 'import ensurepip, sys, venv; sys.exit(not ($(is-python)))' 2>/dev/null && \
    found=$$python && break; \
done; \
test -n "$$found" || { echo "make: found no Python 3.$(1) to 3.$(2) with venv (tried: $$*)." \
  'Name one: make PYTHON=/path/to/python3 ...' >&2; exit 1; }
endef

# $(call install,what): shows the names that pip collects, in place of its whole log.
# The stamp is written on the left of the pipe, where pip's exit status is known.
define install
@$(BIN)/python -c 'import sys; sys.exit(not ($(call is-python,$(OLDEST),$(NEWEST))))' || \
  { echo 'make: $(VENV) holds another Python than 3.$(OLDEST) to 3.$(NEWEST); try make clean' >&2; \
    exit 1; }
@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
@rm -f $@; echo 'Installing dpaudit into $(VENV), about a minute the first time:'
@{ $(BIN)/python -m pip install --progress-bar off --disable-pip-version-check \
     --constraint constraints.txt --editable '$(1)' && touch $@; } | \
  while read -r word name rest; do case "$$word $$name" in \
    Collecting*) printf ' %s' "$${name%%[!A-Za-z0-9._-]*}";; \
    'Installing collected') printf '\n installing all of these ...';; \
  esac; done; echo; test -e $@
endef
