#!/bin/sh
# Installs what is missing, makes sure of a Redis, and becomes the server, so that signals and the exit code
# are the server's own.
set -eu
cd "$(dirname "$0")/.."

bun install --frozen-lockfile
if [ -z "${VAULT_REDIS_URL:-}${VAULT_REDIS_BIN:-}" ]; then sh scripts/redis-vendor.sh; fi

exec sh scripts/quiet.sh bun server/main.ts
