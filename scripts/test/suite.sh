#!/bin/sh
# Installs what the tests need and runs them side by side in several processes: all but the long ones, or the files and
# folders given, with further options of `bun test`.
set -eu
cd "$(dirname "$0")/../.."

sh scripts/test/prepare.sh
# A test that hangs fails all the same; one on a busy machine need not. Three processes keep two cores busy, since tests
# also wait; for the same reason some files run several tests at once, which share one thread of the vault.
exec bun test --timeout 60000 --parallel=3 --max-concurrency=8 "$@"
