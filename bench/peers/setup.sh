#!/usr/bin/env bash
# Makes the environment in which `headwise bench --peers` runs other libraries, some minutes and 2 GB in
# ~/.cache/headwise/peers (XDG_CACHE_HOME is heeded), and names their commands in its peers.json. Nothing else
# needs it. Wants python3 with venv, g++, cmake, ninja and binutils, and the network; can be repeated.
# With --models llama.cpp is built, too, for llama_models.py: 6 minutes of a core.
set -euo pipefail

readonly ggml_source=llama-cpp-python==0.3.36 # its archive holds llama.cpp, and that holds ggml
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/headwise/peers
python=$folder/bin/python

say() { printf '%s\n' "peers: $*" >&2; }

install_wheels() {
  say "installing requirements-cpu.txt into $folder"
  python3 -m venv "$folder"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements-cpu.txt"
  local libraries
  libraries=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch/lib
  "$python" "$here/../../scripts/model_oracle/torch_stubs.py" "$libraries" >&2
}

# To GCC 12 _tile_loadconfig reads 8 of the 64 bytes that it is given. The others, the tiles' sizes, are then never
# stored, and the first product with AMX ends in an illegal instruction.
keep_tile_sizes() {
  # shellcheck disable=SC2016
  sed -i 's|^ *_tile_loadconfig(&tc);|    asm volatile("" : : "r"(\&tc) : "memory");\n&|' "$1"
  grep -q -A 1 'asm volatile.*memory' "$1" || { say "$1 is not as it was"; exit 1; }
}

# Natively, as the wheels of llama-cpp-python are not: they are slower by what the processor has beyond AVX2.
build_ggml() {
  local work=$folder/ggml
  if [[ ! -f $work/$ggml_source ]]; then
    say "building ggml of $ggml_source"
    rm -rf "$work"
    mkdir -p "$work/source"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
      --dest "$work" "$ggml_source"
    tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$work/source" --strip-components 1
    keep_tile_sizes "$work/source/vendor/llama.cpp/ggml/src/ggml-cpu/amx/mmq.cpp"
    cmake -S "$work/source/vendor/llama.cpp" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
      -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_{COMMON,TOOLS,TESTS,EXAMPLES,SERVER}=OFF > "$work/log"
    cmake --build "$work/build" --target ggml -j "$(nproc)" >> "$work/log"
    touch "$work/$ggml_source"
  fi
  local libraries
  libraries=$(dirname "$(find "$work/build" -name 'libggml-base.so' -print -quit)")
  gcc -std=c11 -O2 -Wall -Wextra -shared -fPIC "$here/ggml_flash.c" -o "$work/libggml_flash.so" \
    -I "$work/source/vendor/llama.cpp/ggml/include" -L "$libraries" "-Wl,-rpath,$libraries" -lggml-base -lggml-cpu
}

# For whole models. Its Python part is used from the source, as it is.
build_llama() {
  say "building llama.cpp of $ggml_source"
  cmake --build "$folder/ggml/build" --target llama -j "$(nproc)" >> "$folder/ggml/log"
}

case "${1-}" in
  "" | --models) ;;
  *) say "usage: setup.sh [--models]"; exit 2 ;;
esac
install_wheels
build_ggml
if [[ ${1-} == --models ]]; then build_llama; fi
"$python" "$here/write_manifest.py" "$folder"
say "done: headwise bench decode --peers"
