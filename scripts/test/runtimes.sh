#!/bin/sh
# Makes sure of the runtimes that the SDK is tried on beside Node, Bun and Chromium: Deno and workerd, into
# .vendor/runtimes, as test/sdk/runtimes pins them. 250 MB that only tests need, and so no packages of the project.
set -eu
cd "$(dirname "$0")/../.."
target=.vendor/runtimes

mkdir -p "$target"
cp test/sdk/runtimes/package.json test/sdk/runtimes/bun.lock "$target"
cd "$target"
bun install --frozen-lockfile --ignore-scripts --silent
