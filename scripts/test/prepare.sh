#!/bin/sh
# Installs what all tests need. The SDK is packed, the guide and the console are built here, once, before processes that run side by side
# ask for them.
set -eu
cd "$(dirname "$0")/../.."

bun install --frozen-lockfile
sh scripts/redis-vendor.sh
sh scripts/age-vendor.sh
sh scripts/pkcs11-vendor.sh
sh scripts/test/tools.sh >/dev/null
bun scripts/pack.ts --if-changed
bun scripts/build-guide.ts --if-changed
bun scripts/build-console.ts --if-changed
