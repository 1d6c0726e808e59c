#!/bin/sh
# Makes a million cases by chance, or as many as are given, from a seed that it prints:
#   sh scripts/test/fuzz.sh [CASES] [SEED]
set -eu
cd "$(dirname "$0")/../.."

bun install --frozen-lockfile --silent
sh scripts/redis-vendor.sh
VAULT_FUZZ_CASES=${1:-1000000}
VAULT_FUZZ_SEED=${2:-$(date +%s)}
export VAULT_FUZZ_CASES VAULT_FUZZ_SEED
echo "$VAULT_FUZZ_CASES cases of seed $VAULT_FUZZ_SEED"
exec bun test test/fuzz
