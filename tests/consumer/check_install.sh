#!/usr/bin/env bash
# check_install.sh BUILD_FOLDER: installs it into a temporary prefix, builds the consumer against that and runs it.
set -euo pipefail

build=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" > "$scratch/install.log" || {
  cat "$scratch/install.log"
  exit 1
}
cmake -G Ninja -S "$source" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" > /dev/null
cmake --build "$scratch/build"
"$scratch/build/cpp_consumer"
"$scratch/build/c_consumer"
if [[ -e $build/headwise ]]; then "$scratch/prefix/bin/headwise" --version; fi
