#!/bin/sh
# Makes sure that there is a redis-server: one on PATH, or the distribution's own package unpacked into
# .vendor/redis. Needs no root and no package lists; apt checks the signatures as always.
set -eu
cd "$(dirname "$0")/.."
target=.vendor/redis

runs() { "$1" --version >/dev/null 2>&1; }

if runs "$target/redis-server" || runs redis-server || runs valkey-server; then exit 0; fi

give_up() {
  echo "No redis-server found, and none could be fetched. Install Redis 7 or newer, for example with" >&2
  echo "    sudo apt-get install redis-server" >&2
  echo "or set VAULT_REDIS_BIN to the program, or VAULT_REDIS_URL to a Redis that runs already." >&2
  exit 1
}
command -v apt-get >/dev/null && command -v dpkg >/dev/null || give_up

mkdir -p .vendor
work=$(cd "$(mktemp -d .vendor/redis.XXXXXX)" && pwd)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/deb"

# The second round brings package lists of its own, for machines whose lists are missing or out of date.
system_apt() { "$@" -qq; }
private_apt() { "$@" -qq -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache"; }

download() { (cd "$work/deb" && "$1" apt-get download $2 >>"$work/apt.log" 2>&1); }

# redis-check-rdb, of the redis-tools package, is the server under another name.
unpack() {
  rm -rf "$work/root" && mkdir "$work/root"
  for package in "$work"/deb/*.deb; do dpkg -x "$package" "$work/root"; done
  ln -sf redis-check-rdb "$work/root/usr/bin/redis-server"
  libraries=$(cd "$work/root" && find . -name '*.so.*' -exec dirname {} \; | sort -u | sed 's|^\.|$here|' | paste -sd:)
  cat >"$work/root/redis-server" <<SCRIPT
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" exec "\$here/usr/bin/redis-server" "\$@"
SCRIPT
  chmod 755 "$work/root/redis-server"
  runs "$work/root/redis-server"
}

# A system with fewer libraries than usual needs all that the package depends on (libc6 is always there).
dependencies() { "$1" apt-cache depends redis-tools | sed -n 's/^ *Depends: \([a-z0-9][^ ]*\)$/\1/p' | grep -vx libc6; }

fetch() {
  download "$1" "redis-tools libjemalloc2 liblzf1 libatomic1" || return 1
  unpack || { download "$1" "$(dependencies "$1")" && unpack; }
}

echo "Fetching redis-server into $target ..."
if ! fetch system_apt; then
  private_apt apt-get update >>"$work/apt.log" 2>&1 || true
  fetch private_apt || { tail -n 5 "$work/apt.log" >&2; give_up; }
fi

# The rename is all or nothing. Where somebody else was faster, theirs is as good.
runs "$target/redis-server" || rm -rf "$target"
mv -T "$work/root" "$target" 2>/dev/null || runs "$target/redis-server" || give_up
