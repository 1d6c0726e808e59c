#!/bin/sh
# Installs what the quick tests need and runs them, or the files and folders given, with further options of `bun test`.
# Tests also wait, so three processes keep two cores busy. A process keeps its modules from file
# to file: the server is compiled once in each, not once in each file.
set -eu
cd "$(dirname "$0")/../.."

sh scripts/test/prepare.sh
exec bun test --timeout 60000 --parallel=3 --no-isolate --max-concurrency=8 "$@"
