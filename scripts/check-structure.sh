#!/bin/sh
# Runs the tests of what is written rather than of what runs: imports, where secrets may be handled, documents, manifests,
# and generated files. Options of `bun test` may follow.
set -eu
cd "$(dirname "$0")/.."

# shellcheck disable=SC2046 # no name of a test has a space
exec bun test --timeout 60000 --only-failures $(find ./test -name '*.check.ts' | sort) "$@"
