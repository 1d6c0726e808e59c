#!/bin/sh
# Runs the tests that use Redis on a Redis Cluster of three masters, then those over HTTP with two servers at random.
# Runs all of them, then fails if one did. Takes no arguments.
set -eu
cd "$(dirname "$0")/../.."

export VAULT_TEST_REDIS=cluster
failed=0
bun test --timeout 120000 ./test/cluster/*.long.ts ./test/cluster/*.faults.ts || failed=1
bun test --timeout 120000 test/store test/vault test/services test/sdk test/pages test/outbound $(find ./test/vault ./test/sdk ./test/pages -name "*.long.ts") || failed=1
VAULT_TEST_SERVERS=2 bun test --timeout 120000 test/vault test/sdk || failed=1
exit "$failed"
