#!/bin/sh
# Installs what is missing, makes sure of a Redis, and becomes the server, so that signals and the exit code
# are the server's own.
set -eu
cd "$(dirname "$0")/.."

bun install --frozen-lockfile
if [ -z "${VAULT_REDIS_URL:-}${VAULT_REDIS_BIN:-}" ]; then sh scripts/redis-vendor.sh; fi

# Memory that holds keys and card data must not end up in a core file or a crash report.
ulimit -c 0
export BUN_ENABLE_CRASH_REPORTING=0 DO_NOT_TRACK=1

exec bun server/main.ts
