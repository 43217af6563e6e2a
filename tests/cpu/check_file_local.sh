#!/usr/bin/env bash
# Fails if an object of an instruction set's kernels defines a weak or unique symbol.
#   check_file_local.sh LEAST OBJECT ...    LEAST: of them are such objects at least
set -euo pipefail

least=$1 checked=0
shift
for object in "$@"; do
  [[ $object =~ kernels_(amx|avx) ]] || continue
  checked=$((checked + 1))
  if weak=$(nm -C "$object" | grep -E ' [WVu] ' | grep -vE ' (w|v) |__(asan|ubsan|tsan|gcov)'); then
    echo "$object defines symbols that other code may be linked to:"
    echo "$weak"
    exit 1
  fi
done
((checked >= least)) || { echo "only $checked kernel objects were given"; exit 1; }
echo "$checked kernel objects define nothing weak"
