#!/bin/sh
# Runs the tests that use Redis on a Redis Cluster of three masters, then those over HTTP with two servers at random.
set -eu
cd "$(dirname "$0")/../.."

export VAULT_TEST_REDIS=cluster
bun test --timeout 120000 test/cluster ./test/cluster/*.long.ts
bun test --timeout 120000 test/store test/vault test/services test/sdk test/pages test/outbound ./test/pages/*.long.ts \
  ./test/sdk/*.long.ts ./test/sdk/runtimes/*.long.ts
VAULT_TEST_SERVERS=2 exec bun test --timeout 120000 test/vault test/sdk
