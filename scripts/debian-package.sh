# Sourced by the scripts that fetch a program out of the distribution's own packages: unpacks it into a folder, behind a
# launcher of the program's name. Needs no root and no package lists; apt checks the signatures as always.
#
# The script that sources this sets `target` (the folder), `program` (what is to run), `binary` (the file of the package
# that is the program), `package` (the package) and `packages` (what is needed of it and beside it on usual systems),
# and defines `runs`, which tells whether a path is that program in working order.

# Fetches the program unless it is there; fails when it cannot.
fetch_package() {
  if runs "$target/$program"; then return; fi
  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then return 1; fi
  mkdir -p "$(dirname "$target")"
  work=$(cd "$(mktemp -d "$target.XXXXXX")" && pwd) || return 1
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/deb"
  echo "Fetching $program into $target ..."
  if ! fetch_by system_apt; then
    private_apt apt-get update >>"$work/apt.log" 2>&1 || true
    fetch_by private_apt || { tail -n 5 "$work/apt.log" >&2; return 1; }
  fi
  # The rename is all or nothing. Where somebody else was faster, theirs is as good.
  runs "$target/$program" || rm -rf "$target"
  mv -T "$work/root" "$target" 2>/dev/null || runs "$target/$program"
}

# The second round brings package lists of its own, for machines whose lists are missing or out of date.
system_apt() { "$@" -qq; }
private_apt() { "$@" -qq -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache"; }

download() { (cd "$work/deb" && "$1" apt-get download $2 >>"$work/apt.log" 2>&1); }

unpack() {
  rm -rf "$work/root" && mkdir -p "$work/root/usr/bin"
  for deb in "$work"/deb/*.deb; do dpkg -x "$deb" "$work/root"; done
  [ -e "$work/root/usr/bin/$program" ] || ln -s "$binary" "$work/root/usr/bin/$program"
  libraries=$(cd "$work/root" && find . -name '*.so.*' -exec dirname {} \; | sort -u | sed 's|^\.|$here|' | paste -sd:)
  cat >"$work/root/$program" <<SCRIPT
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" exec "\$here/usr/bin/$program" "\$@"
SCRIPT
  chmod 755 "$work/root/$program"
  runs "$work/root/$program"
}

# A system with fewer libraries than usual needs all that the package depends on (libc6 is always there).
dependencies() { "$1" apt-cache depends "$package" | sed -n 's/^ *Depends: \([a-z0-9][^ ]*\)$/\1/p' | grep -vx libc6; }

fetch_by() {
  download "$1" "$packages" || return 1
  unpack || { download "$1" "$(dependencies "$1")" && unpack; }
}
