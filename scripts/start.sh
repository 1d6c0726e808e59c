#!/bin/sh
# Installs what is missing, makes sure of a Redis, and becomes the server, so that signals and the exit code
# are the server's own. In production it installs and makes nothing, and says what is missing.
set -eu
cd "$(dirname "$0")/.."

if [ "${VAULT_ENV:-}" = production ] || [ "${NODE_ENV:-}" = production ]; then
  if ! env -i PATH="$PATH" bun --no-env-file scripts/missing-packages.ts; then
    echo "Nothing is installed in production: run 'bun install --frozen-lockfile' first." >&2
    exit 1
  fi
  [ -d dist/packages ] || echo "SDK and forms are not packed (bun run pack); the server cannot give them out." >&2
  [ -d dist/console ] || echo "The console is not built (bun run build:console); the server cannot show it." >&2
  [ -d dist/guide ] || echo "The guide and the API reference are not built (bun run build:guide); the server cannot show them." >&2
  exec sh scripts/quiet.sh bun server/main.ts
fi

# Packages for development too: the SDK, the guide and the console are made of some. An image has them made.
bun install --frozen-lockfile

[ -d dist/guide ] || echo "Building the SDK, the console and the guide. That takes a minute, this first time." >&2
# Where one of these fails, all else works. They see nothing of the server's settings.
make() { env -i PATH="$PATH" HOME="${HOME:-}" bun --no-env-file "$@" --if-changed >/dev/null; }
make scripts/pack.ts &
packing=$!
make scripts/build-guide.ts &
building=$!
make scripts/build-console.ts &
console=$!
if [ -z "${VAULT_REDIS_URL:-}${VAULT_REDIS_BIN:-}" ]; then sh scripts/redis-vendor.sh; fi
wait $packing || echo "SDK and forms could not be packed; the server cannot give them out." >&2
wait $console || echo "The console could not be built; the server cannot show it." >&2
wait $building || echo "The guide could not be built; the server cannot show it." >&2

exec sh scripts/quiet.sh bun server/main.ts
