#!/bin/sh
# Makes sure that there is promtool, which checks the rules for alerts: one on PATH, or that of the distribution's package
# prometheus, unpacked into .vendor/promtool.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/promtool
program=promtool
binary=promtool
package=prometheus
packages=prometheus
runs() { "$1" --version >/dev/null 2>&1; }
. scripts/debian-package.sh

if runs promtool || fetch_package; then exit 0; fi
echo "No promtool found, and none could be fetched." >&2
exit 1
