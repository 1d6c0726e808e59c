#!/bin/sh
# Makes sure that there is nginx, with which the tests run the configuration of deploy/nginx: one on PATH, or that of the
# distribution's package, unpacked into .vendor/nginx.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/nginx
program=nginx
binary=../sbin/nginx
package=nginx
packages=nginx
runs() { "$1" -v >/dev/null 2>&1; }
. scripts/debian-package.sh

if runs nginx || fetch_package; then exit 0; fi
echo "No nginx found, and none could be fetched." >&2
exit 1
