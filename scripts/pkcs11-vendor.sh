#!/bin/sh
# Makes sure that there are SoftHSM, a hardware module in software, and pkcs11-tool, which speaks with any, for tests of a
# master key in a module: those of the system, or those of the distribution's packages, unpacked into .vendor/pkcs11.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/pkcs11
program=pkcs11-tool
binary=pkcs11-tool
package=opensc
packages='opensc opensc-pkcs11 libsofthsm2'
# It has no option that only tells whether it runs.
runs() { "$1" --help 2>&1 | grep -q '^Usage: pkcs11-tool'; }
. scripts/debian-package.sh

if { runs pkcs11-tool && [ -e /usr/lib/softhsm/libsofthsm2.so ]; } || fetch_package; then exit 0; fi
echo "No SoftHSM and pkcs11-tool found, and none could be fetched. Install them, for example with" >&2
echo "    sudo apt-get install softhsm2 opensc" >&2
exit 1
