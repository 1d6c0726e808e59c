#!/bin/sh
# Runs the tests that take long, or those given: examples of the pages, forms and the guide in Chromium, servers that are
# replaced or die under load, a Redis behind Sentinel that fails, every mistake about the address of Redis, requests to
# third parties while processes are killed, the SDK's package in projects and runtimes of all kinds, and 50,000 fuzz
# cases. Options of `bun test` may follow.
set -eu
cd "$(dirname "$0")/../.."

sh scripts/test/prepare.sh
sh scripts/test/runtimes.sh
VAULT_FUZZ_CASES=${VAULT_FUZZ_CASES:-50000}
export VAULT_FUZZ_CASES
case "${1:-}" in
  *.ts) ;;
  *)
    set -- ./test/pages/*.long.ts ./test/browser/*.long.ts ./test/serving/*.long.ts ./test/durability/*.long.ts ./test/redis/*.long.ts \
      ./test/sdk/*.long.ts ./test/sdk/runtimes/*.long.ts ./test/fuzz/fuzz.test.ts "$@"
    ;;
esac
exec bun test --timeout 120000 --parallel=2 "$@"
