#!/bin/sh
# Runs the tests that use Redis on a Redis Cluster of three masters, then many of them with two servers at random.
set -eu
cd "$(dirname "$0")/.."

export VAULT_TEST_REDIS=cluster
bun test --timeout 60000 test/cluster test/store test/vault test/services test/sdk test/guides test/outbound
# Tests that reach into one server cannot be told of by two.
VAULT_TEST_SERVERS=2 exec bun test --timeout 60000 \
  $(grep -L 'hold\.ts\|opened\.\|Reflect\|deps\.' test/vault/*.test.ts)
