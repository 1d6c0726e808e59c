#!/bin/sh
# Lays out in an empty folder what a server needs to run, and nothing else: no tests, no tools, no history. Works in a
# fresh clone, with bun or with npx alone.
#   sh scripts/image-files.sh FOLDER
set -eu
command -v bun >/dev/null || exec sh "$(dirname "$0")/with-bun.sh" sh "$0" "$@"
target=${1:?"the folder to lay the files out in"}
mkdir -p "$target"
target=$(cd "$target" && pwd)
[ -z "$(ls -A "$target")" ] || { echo "$target is not empty" >&2; exit 1; }
cd "$(dirname "$0")/.."

# What the packages, the guide and the console are made with.
bun install --frozen-lockfile --silent

cp -R package.json bun.lock bunfig.toml tsconfig.json LICENSE server workers forms "$target"
# Bundles that a check has built here: the server builds its own.
rm -rf "$target/forms/dist"
mkdir "$target/sdk"
cp -R sdk/openapi.json sdk/seal "$target/sdk"
(cd "$target" && bun install --frozen-lockfile --production --silent)

# A compiler that a package could use, and none does here.
rm -rf "$target/node_modules/typescript" "$target/node_modules/.bin"

# SDK and forms of this version, the guide with the API reference, and the console, as the server gives them out.
bun scripts/pack.ts --if-changed
bun scripts/build-guide.ts --if-changed
bun scripts/build-console.ts --if-changed
mkdir "$target/dist"
cp -R dist/packages dist/guide dist/console "$target/dist"

bun scripts/sbom.ts "$target" >"$target/sbom.cdx.json"
chmod -R a+rX,go-w "$target"
