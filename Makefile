# Podloom's commands. Each says what it does in `make help`; what a machine lacks is installed on the way (tools/bootstrap.sh).

.DEFAULT_GOAL := help
.PHONY: help setup cluster-needs deploy-needs test-needs up down test test-unit test-node test-api test-cluster test-kernel check fix fuzz bench image deploy undeploy install run-operator clean
