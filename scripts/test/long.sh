#!/bin/sh
# Runs the tests that take long, or those given: whatever waits for real time, starts several processes or a browser,
# restores whole vaults, runs the examples of the pages, packs the SDK, counts budgets, and 50,000 fuzz cases. Options of
# `bun test` may follow. Most of these tests wait, so three processes keep two cores busy.
set -eu
cd "$(dirname "$0")/../.."

sh scripts/test/prepare.sh
sh scripts/test/runtimes.sh
VAULT_FUZZ_CASES=${VAULT_FUZZ_CASES:-50000}
export VAULT_FUZZ_CASES
case "${1:-}" in
  *.ts) ;;
  *)
    # shellcheck disable=SC2046 # no name of a test has a space
    set -- $(find ./test -name '*.long.ts' | sort) ./test/fuzz/fuzz.test.ts "$@"
    ;;
esac
exec bun test --timeout 120000 --parallel=3 "$@"
