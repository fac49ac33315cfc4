# Podloom's commands. Each says what it does in `make help`; what a machine lacks is installed on the way (tools/bootstrap.sh).

.DEFAULT_GOAL := help
.PHONY: help setup cluster-needs labs-needs deploy-needs test-needs up labs down test test-all test-unit test-node test-api test-cluster test-kernel check fix fuzz bench image deploy undeploy install run-operator clean

# The private Node and Go come first, also for everything that is started below.
export PATH := $(CURDIR)/.tools/bin:$(PATH)
BOOTSTRAP := sh tools/bootstrap.sh
NODE := node --disable-warning=ExperimentalWarning

# What the private cluster runs on, and what its images are made of. command:package
CLUSTER_PACKAGES := runc:runc nft:nftables ip:iproute2 nsenter:util-linux busybox:busybox-static ping:iputils-ping nc.openbsd:netcat-openbsd tcpdump:tcpdump dash:dash bash:bash
# For what labs have beside: Keycloak is Java and comes by Maven, and people have keys.
LABS_PACKAGES := ssh-keygen:openssh-client java:default-jre-headless mvn:maven
TEST_PACKAGES := qemu-system-x86_64:qemu-system-x86 cc:gcc ethtool:ethtool python3:python3 $(LABS_PACKAGES)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:
	@$(BOOTSTRAP) modules

cluster-needs: setup
	@$(BOOTSTRAP) packages $(CLUSTER_PACKAGES)
	@$(BOOTSTRAP) go

labs-needs: cluster-needs
	@$(BOOTSTRAP) packages $(LABS_PACKAGES)

deploy-needs: setup
	@{ command -v kubectl && command -v helm; } >/dev/null || $(BOOTSTRAP) go

# Who is not root gets no packages installed: the tiers that need them say so, and the others run.
test-needs: setup
	@$(BOOTSTRAP) packages $(CLUSTER_PACKAGES) $(TEST_PACKAGES) || [ "$$(id -u)" != 0 ]
	@$(BOOTSTRAP) go

up: cluster-needs ## Start a private two-node Kubernetes with Podloom on it (again: seconds)
	@$(NODE) tools/up.ts

labs: labs-needs ## Add lab environments to it, or start it with them: storage, Keycloak, a registry, and a class of an example (again: seconds)
	@$(NODE) tools/labs.ts

down: setup ## Remove the private Kubernetes, every trace of it
	@./podloom cluster down

test: test-needs ## Run all checks and all test tiers that this machine can carry, without what a change cannot have broken
	@$(NODE) tools/test.ts

test-all: test-needs ## The full pass: all of every tier, and the tests of the bench
	@$(NODE) tools/test.ts --all

test-unit test-node test-api test-cluster test-kernel: test-needs
	@$(NODE) tools/test.ts $(@:test-%=%)

check: setup ## Types, lint, format, unused code, arrows, generated files, links: under a minute
	@$(NODE) tools/check.ts

fix: setup ## Mend what check can mend by itself: format, lint fixes, generated files
	@$(NODE) tools/check.ts --fix

fuzz: setup ## The nightly-sized run: new stories for every property, and more than a million messages for netlink
	@PODLOOM_FUZZ=1 NETLINK_FUZZ_RUNS=12000 $(NODE) node_modules/.bin/vitest run --project=unit

bench: test-needs ## Measure against peers and against the floor, as ratios in one run
	@$(NODE) bench/run.ts

image: cluster-needs ## Build the OCI archives of the product and of the tools image into dist/
	@$(NODE) deploy/image/build.ts

# With an image from elsewhere, nothing is built here but what the machine lacks of kubectl and helm.
deploy: $(if $(IMAGE),deploy-needs,image) ## Install on the current kubectl context (IMAGE=…, VALUES=…: see docs/guides/install.md)
	@$(NODE) tools/deploy.ts

undeploy: deploy-needs ## Take it away from the current kubectl context (CRDS=1: with all that people wrote)
	@$(NODE) tools/deploy.ts --remove

install: deploy-needs ## Install only the kinds on the current kubectl context; a later make deploy takes them over
	@$(NODE) tools/install-kinds.ts

# As upstream has it: KEYCLOAK_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID, KEYCLOAK_CLIENT_SECRET, KEYCLOAK_TARGET_CLIENT, MYDRIVE_PVCS_SIZE,
# MYDRIVE_PVCS_STORAGE_CLASS and MYDRIVE_PVCS_NAMESPACE are read from the environment by the program itself.
run-operator: export POD_NAMESPACE ?= default
run-operator: export PODLOOM_TARGET_LABEL ?= crownlabs.polito.it/operator-selector=local
run-operator: setup ## Run the operator of the labs from the sources on the current kubectl context
	@./podloom labs-operator

clean: ## Remove what was built in this folder (not the cache of Kubernetes binaries, nor a running cluster)
	@rm -rf dist .tsbuild node_modules .tools
