#!/bin/sh
# Every check but the tests. Runs all of them, then fails if one did.
set -u
cd "$(dirname "$0")/.."
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true

failed=
step() {
  echo "--- $*"
  "$@" || failed="$failed
    $*"
}

step bun install --frozen-lockfile
for check in generated structure types style unused unbound openapi package deploy; do step bun run --silent "check:$check"; done

if [ -n "$failed" ]; then
  echo "These checks failed:$failed" >&2
  exit 1
fi
echo "All checks passed."
