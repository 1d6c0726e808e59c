#!/bin/sh
# Installs what is missing, makes sure of a Redis, and becomes the server, so that signals and the exit code
# are the server's own.
set -eu
cd "$(dirname "$0")/.."

bun install --frozen-lockfile

# The server gives out the SDK of its own version. Where that cannot be packed, all else works.
bun scripts/pack-sdk.ts --if-changed >/dev/null &
packing=$!
if [ -z "${VAULT_REDIS_URL:-}${VAULT_REDIS_BIN:-}" ]; then sh scripts/redis-vendor.sh; fi
wait $packing || echo "The SDK could not be packed; the server cannot give it out." >&2

exec sh scripts/quiet.sh bun server/main.ts
