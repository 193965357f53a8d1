# SPDX-License-Identifier: MIT
# The front door: each target works on a machine that has only git and make, see `make help`.

# `make DEPS=true ...` leaves the packages alone. `make WERROR=ON ...` makes warnings errors, as CI does, in this build
# folder until WERROR=OFF.
DEPS ?= scripts/install-deps
WERROR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

.PHONY: deep web python wheel help demo test test-slow test-torch2 sanitize bench generate format lint install clean
.PHONY: deps-core deps-test program release tests fuzzers
.DEFAULT_GOAL := help
# Steps of a target are in order; the builds inside run JOBS at a time.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/make \1@\2/' | column -t -s @ 2>/dev/null \
	  || grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST)

demo: deps-core program ## build the program and run `tandem demo`
	build-release/tandem demo

test: tests ## build everything and run the tests, without the slow ones
	ctest --preset release

test-slow: tests fuzzers ## the slow tests, and the fuzzers for minutes each
	ctest --preset slow
	ctest --test-dir build-fuzz --output-on-failure -L '^slow$$'

test-torch2: deps-test wheel ## the wheels and the LibTorch adapter with torch 2, in an environment of its own (pip)
	@WERROR=$(WERROR) scripts/test-torch2 dist $(JOBS) || test $$? -eq 77  # 77: skipped, and it said why

sanitize: deps-test fuzzers ## the tests (without the slow ones) under ASan and UBSan, and a short run of the fuzzers
	cmake --preset sanitize
	cmake --build --preset sanitize --parallel $(JOBS)
	ctest --preset sanitize
	ctest --test-dir build-fuzz --output-on-failure -L '^fuzz$$'

bench: deps-core program ## speed of a step, beside the machine's limits and peers
	build-release/tandem bench step

generate: deps-core ## write anew what follows from the declarations of the optimizers
	scripts/generate --list
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target tandem_describe
	scripts/generate --describe build-release/tandem_describe

format: deps-test ## clang-format our files
	scripts/lint --fix-format

lint: deps-test ## clang-format, clang-tidy, shellcheck, the order of modules; warnings are errors
	cmake --preset release
	scripts/lint build-release $(JOBS)

deep: ## the program with its LibTorch part: ResNets, `tandem finetune`
	@$(DEPS) core lab torch
	cmake --preset release $(if $(WERROR),-DTANDEM_WERROR=$(WERROR))
	cmake --build --preset release --parallel $(JOBS) --target tandem_program tandem_torch_plugin tandem_sentencepiece

web: ## the program with the interactive report and `tandem serve`
	@$(DEPS) core lab web
	$(MAKE) program

python: ## the Python package in build-release/python: `import tandem`
	@$(DEPS) core lab wheel python
	cmake --preset release $(if $(WERROR),-DTANDEM_WERROR=$(WERROR))
	cmake --build --preset release --parallel $(JOBS) --target tandem_python
	@echo "Ready: PYTHONPATH=$(CURDIR)/build-release/python /usr/bin/python3 -c 'import tandem'"

wheel: ## the Python package as wheels in dist/: tandem-optim for every Python 3, tandem-lab for Debian's
	@$(DEPS) core lab wheel
	cmake --preset release $(if $(WERROR),-DTANDEM_WERROR=$(WERROR))
	JOBS=$(JOBS) scripts/build-wheels build-release dist

install: deps-core release ## install to PREFIX (default /usr/local)
	cmake --install build-release --prefix "$(PREFIX)"

clean: ## remove what was built here
	rm -rf build-release build-debug build-sanitize build-fuzz build-python build-torch2 build-torch2-env dist

deps-core:
	@$(DEPS) core lab

deps-test:
	@$(DEPS) core lab torch wheel python web test

program:
	cmake --preset release $(if $(WERROR),-DTANDEM_WERROR=$(WERROR))
	cmake --build --preset release --parallel $(JOBS) --target tandem_program

release:
	cmake --preset release $(if $(WERROR),-DTANDEM_WERROR=$(WERROR))
	cmake --build --preset release --parallel $(JOBS)

tests: deps-test
	$(MAKE) release

fuzzers: deps-test
	cmake -S . -B build-fuzz -DCMAKE_CXX_COMPILER=clang++ -DTANDEM_FUZZ=ON -DTANDEM_BUILD_TESTS=OFF -DTANDEM_BUILD_PROGRAM=OFF -DTANDEM_BUILD_PYTHON=OFF
	cmake --build build-fuzz --parallel $(JOBS) --target tandem_fuzzers
