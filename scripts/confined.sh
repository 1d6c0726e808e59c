#!/bin/sh
# Runs a command the way a container would: every file system read-only but an empty one of its own at TMPDIR, as
# uid 65532, without capabilities and without a way to get any. For trying that on a machine without containers.
#   sh scripts/confined.sh COMMAND [ARGUMENT...]
# Needs Linux and root.
set -eu
[ "$(id -u)" = 0 ] || { echo "confined.sh needs root, to give it up in the right way" >&2; exit 1; }
bun=$(readlink -f "$(command -v bun)")
stage=$(mktemp -d)
trap 'rmdir "$stage/root" "$stage"' EXIT
mkdir "$stage/root"

# All that follows is in mount and process namespaces of its own, and gone with them.
PWD_BEFORE=$PWD unshare --mount --pid --fork --kill-child sh -euc '
  bun=$1 stage=$2; shift 2
  mount --make-rprivate /
  mount --rbind / "$stage/root"
  cd "$stage/root"
  # The runtime may lie where only root may look.
  mount -t tmpfs -o mode=755 tmpfs "$stage/root$stage"
  mkdir "$stage/root$stage/bin" "$stage/root$stage/tmp"
  touch "$stage/root$stage/bin/bun"
  mount --bind "$bun" "$stage/root$stage/bin/bun"
  mount -t tmpfs -o mode=700,uid=65532,gid=65532 tmpfs "$stage/root$stage/tmp"
  mount -t proc proc "$stage/root/proc"
  findmnt --noheadings --raw --output TARGET --submounts "$stage/root" | while read -r target; do
    [ "$target" = "$stage/root$stage/tmp" ] || mount -o remount,bind,ro "$target"
  done
  ulimit -c 0
  exec chroot "$stage/root" env --chdir="$PWD_BEFORE" --ignore-environment \
    PATH="$stage/bin:/usr/bin:/bin" HOME=/nonexistent TMPDIR="$stage/tmp" \
    setpriv --reuid 65532 --regid 65532 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
' sh "$bun" "$stage" "$@"
