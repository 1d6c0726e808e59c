#!/bin/sh
# Asks the registry for the digest of every image of deploy/images.env, and writes it there and where Kubernetes reads
# it. Needs docker with buildx. Nothing is written unless every digest is known.
#   sh scripts/images/pin.sh
set -eu
cd "$(dirname "$0")/../.."
images=deploy/images.env
manifests=deploy/kubernetes/kustomization.yaml
edits=
redis=

for line in $(grep '^[A-Z]' "$images"); do
  name=${line%%=*} image=${line#*=}
  tag=${image%@*}
  digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$tag")
  if ! printf '%s' "$digest" | grep -Eqx 'sha256:[0-9a-f]{64}'; then
    echo "The registry names no digest for $tag; nothing was changed." >&2
    exit 1
  fi
  edits="$edits -e s|^$name=.*|$name=$tag@$digest|"
  [ "$name" != REDIS_IMAGE ] || redis=$digest
done
# shellcheck disable=SC2086 # one word for each edit
sed -i $edits "$images"
sed -i "s|^  image: redis[:@].*|  image: redis@$redis|" deploy/helm/values.yaml
sed -i -E "/name: redis\$/,/^ *(newTag|digest):/s/^( *)(newTag|digest):.*/\1digest: $redis/" "$manifests"
