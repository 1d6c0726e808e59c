#!/bin/sh
# Makes sure that there is a redis-server: one on PATH, or the distribution's own package unpacked into .vendor/redis.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/redis
program=redis-server
# The server under another name.
binary=redis-check-rdb
package=redis-tools
packages='redis-tools libjemalloc2 liblzf1 libatomic1'
runs() { "$1" --version >/dev/null 2>&1; }
. scripts/debian-package.sh

if runs redis-server || runs valkey-server || fetch_package; then exit 0; fi
echo "No redis-server found, and none could be fetched. Install Redis 7 or newer, for example with" >&2
echo "    sudo apt-get install redis-server" >&2
echo "or set VAULT_REDIS_BIN to the program, or VAULT_REDIS_URL to a Redis that runs already." >&2
exit 1
