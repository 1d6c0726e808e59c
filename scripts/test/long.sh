#!/bin/sh
# Runs the long tests, or those of the files and folders given: whatever waits for real time, starts several processes or
# a browser, restores whole vaults, runs the examples of the pages, packs the SDK, counts budgets, and 50,000 fuzz cases.
# Options of `bun test` may stand anywhere. Most of these tests wait, so three processes keep two cores busy.
set -eu
cd "$(dirname "$0")/../.."

chosen=
for argument; do
  shift
  # Bun runs a long test only if its path begins with "./".
  case $argument in
    test/*) argument=./$argument ;;
  esac
  case $argument in
    ./test | ./test/* | *.ts) chosen=yes ;;
    *)
      set -- "$@" "$argument"
      continue
      ;;
  esac
  if [ -d "$argument" ]; then
    files=$(find "$argument" -name '*.long.ts' | sort)
    if [ -z "$files" ]; then
      echo "There are no long tests in $argument." >&2
      exit 1
    fi
    # shellcheck disable=SC2086 # no name of a test has a space
    set -- "$@" $files
  else
    set -- "$@" "$argument"
  fi
done
if [ -z "$chosen" ]; then
  # shellcheck disable=SC2046 # no name of a test has a space
  set -- $(find ./test -name '*.long.ts' | sort) ./test/fuzz/fuzz.test.ts "$@"
fi

sh scripts/test/prepare.sh
sh scripts/test/runtimes.sh
VAULT_FUZZ_CASES=${VAULT_FUZZ_CASES:-50000}
export VAULT_FUZZ_CASES
exec bun test --timeout 120000 --parallel=3 "$@"
