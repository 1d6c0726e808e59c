#!/bin/sh
# Runs the tests that use Redis on a Redis Cluster of three masters, then those over HTTP with two servers at random.
# Runs all of them, then fails if one did. Takes no arguments.
set -eu
cd "$(dirname "$0")/../.."

export VAULT_TEST_REDIS=cluster
nouns=
for noun in account audit endpoint export form import job key limits maintenance proxy relay request rule vault; do
  nouns="$nouns ./test/$noun"
done
failed=0
# shellcheck disable=SC2086 # no name of a folder has a space
bun test --timeout 120000 ./test/cluster/*.long.ts ./test/cluster/*.faults.ts || failed=1
bun test --timeout 120000 $nouns test/redis test/installation test/sdk test/pages test/outbound \
  $(find $nouns ./test/sdk ./test/pages -name "*.long.ts") || failed=1
VAULT_TEST_SERVERS=2 bun test --timeout 120000 $nouns test/sdk || failed=1
exit "$failed"
