#!/bin/sh
# Builds the image of a release, from images that deploy/images.env pins by digest; refuses all others. Further arguments
# are those of `docker build`.
#   sh scripts/images/build.sh --tag registry.example.com/cardvault:0.1.0
set -eu
cd "$(dirname "$0")/../.."

unpinned=$(grep '^[A-Z]' deploy/images.env | grep -Ev '^[A-Z_]+=[^@ ]+@sha256:[0-9a-f]{64}$' || true)
if [ -n "$unpinned" ]; then
  printf 'These images have no digest; sh scripts/images/pin.sh asks for it:\n%s\n' "$unpinned" >&2
  exit 1
fi
. ./deploy/images.env
exec docker build --build-arg "BUILD_IMAGE=$BUILD_IMAGE" --build-arg "BASE_IMAGE=$BASE_IMAGE" "$@" .
