#!/bin/sh
# Makes sure that there is wrk, which makes the load of the benchmark: one on PATH, or the distribution's own package
# unpacked into .vendor/wrk.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/wrk
program=wrk
binary=wrk
package=wrk
packages='wrk libluajit-5.1-2 libluajit-5.1-common'
# Its status is 1 however it is asked for its version.
runs() { "$1" --version 2>/dev/null | grep -q '^wrk '; }
. scripts/debian-package.sh

if runs wrk || fetch_package; then exit 0; fi
echo "No wrk found, and none could be fetched." >&2
exit 1
