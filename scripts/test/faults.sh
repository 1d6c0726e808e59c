#!/bin/sh
# Lets server, Redis, power, disk, clock and network fail under a vault that is working, then during changes of passphrase
# and master key, then nodes of a Redis Cluster.
# Needs cc for what is put under the processes. Options go to test/faults/run.ts: --seed N, --only NAME, --rounds N.
set -eu
cd "$(dirname "$0")/../.."

bun install --frozen-lockfile --silent
sh scripts/redis-vendor.sh
bun test/faults/run.ts "$@"
case " $* " in *' --only '*) exit ;; esac
bun test/faults/change.ts
exec bun test --timeout 120000 ./test/cluster/loss.faults.ts ./test/cluster/failover.faults.ts
