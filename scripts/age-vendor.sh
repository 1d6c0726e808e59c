#!/bin/sh
# Makes sure that there are age and age-keygen, which open exports in the tests: those on PATH, or those of the
# distribution's package age, unpacked into .vendor/age.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/age
program=age
binary=age
package=age
packages=age
# Both programs are in one folder, without launchers.
runs() { "$1" --version >/dev/null 2>&1; }
. scripts/debian-package.sh

if { runs age && runs age-keygen; } || fetch_package; then exit 0; fi
echo "No age found, and none could be fetched. Install it, for example with sudo apt-get install age" >&2
exit 1
