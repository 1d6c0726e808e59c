#!/bin/sh
# Becomes the command given, with a bun on its PATH: the one that is there, or one that npm fetches.
#   sh scripts/with-bun.sh COMMAND [ARGUMENT …]
set -eu
if command -v bun >/dev/null; then exec "$@"; fi
exec npx --yes --package=bun@1.4.5 -- "$@"
