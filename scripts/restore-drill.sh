#!/bin/sh
# Proves that the newest backup of a folder can be restored: restores it into a throw-away vault beside the running one,
# verifies every record there, says what there was, and removes the copy. Exit code 0 means that all of that succeeded.
#   sh scripts/restore-drill.sh FOLDER
# It needs the settings VAULT_ENV and VAULT_MASTER_KEY, _FILE or _COMMAND of the vault, and in TMPDIR room for its data.
set -eu
command -v bun >/dev/null || exec sh "$(dirname "$0")/with-bun.sh" sh "$0" "$@"
[ $# = 1 ] || { echo "Usage: sh scripts/restore-drill.sh FOLDER" >&2; exit 2; }
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

# A backup has the ending .part-… until it is complete.
file=$(find "$folder" -maxdepth 1 -type f ! -name '*.part-*' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
[ -n "$file" ] || { echo "There is no backup in $folder." >&2; exit 1; }

# In staging a vault may have made its own key.
if [ -z "${VAULT_MASTER_KEY:-}${VAULT_MASTER_KEY_FILE:-}${VAULT_MASTER_KEY_COMMAND:-}" ]; then
  export VAULT_MASTER_KEY_FILE="${VAULT_DATA_DIR:-.vault}/master-key"
fi
# The copy knows nothing else of the running vault: not its Redis, its data folder, its logs, its ports.
for name in $(env | sed -n 's/^\(VAULT_[A-Z0-9_]*\)=.*/\1/p'); do
  case $name in
    VAULT_ENV | VAULT_MASTER_KEY* | VAULT_REDIS_BIN) ;;
    *) unset "$name" ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export VAULT_DATA_DIR="$work/copy" VAULT_WORKERS=1
vault() { nice -n 10 sh scripts/quiet.sh bun server/cli.ts "$@" --json --quiet; }

begun=$(date +%s)
restored=$(vault restore "$file") || { echo "$file could not be restored." >&2; exit 1; }
if ! found=$(vault verify); then
  printf '%s\n' "$found" >&2
  echo "$file was restored, but is not whole." >&2
  exit 1
fi
value() { printf '%s\n' "$restored" | sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p"; }
echo "$(basename "$file") of $(value made_at) was restored and is whole, in $(($(date +%s) - begun)) s. The copy is removed."
echo "Accounts: $(value accounts), keys: $(value keys), items: $(value items)."
