#!/bin/sh
# Makes sure of what the tests run beside Bun and Redis: curl, openssl, and a Chromium, whose path it prints. What is
# missing comes from the distribution, which needs root. With --find it only looks.
set -eu

# Ubuntu has a program of this name that only says that Chromium is elsewhere: it must run.
find_chromium() {
  for name in chromium chromium-browser google-chrome; do
    if found=$(command -v "$name") && "$found" --version >/dev/null 2>&1; then
      echo "$found"
      return
    fi
  done
  return 1
}

list_missing() {
  command -v curl >/dev/null || printf ' curl'
  command -v openssl >/dev/null || printf ' openssl'
  find_chromium >/dev/null || printf ' chromium'
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install() { as_root apt-get -qq install -y --no-install-recommends "$@"; }

# Ubuntu calls the package chromium-browser.
install_missing() {
  as_root apt-get -qq update
  # shellcheck disable=SC2046,SC2086 # two names are two words
  install $missing || install $(echo "$missing" | sed 's/chromium/chromium-browser/')
}

missing=$(list_missing)
if [ -n "$missing" ] && [ "${1:-}" != --find ] && as_root true 2>/dev/null; then
  echo "Installing$missing ..." >&2
  export DEBIAN_FRONTEND=noninteractive
  install_missing >&2 || true
  missing=$(list_missing)
fi
if [ -n "$missing" ]; then
  echo "The tests need$missing. As root: apt-get update && apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi
find_chromium
