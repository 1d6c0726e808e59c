#!/bin/sh
# Installs what the tests need and runs them: all, or those given.
set -eu
cd "$(dirname "$0")/../.."

bun install --frozen-lockfile
sh scripts/redis-vendor.sh
sh scripts/test/runtimes.sh
sh scripts/test/tools.sh >/dev/null
bun scripts/build-guide.ts --if-changed >/dev/null
# A test that hangs fails all the same; one on a busy machine need not.
exec bun test --timeout 20000 "$@"
