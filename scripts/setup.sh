# shellcheck shell=bash
# What ./run and ./test share: installing what is missing, and building a preset. Sourced; expects `root`.

# Debian package | what needs it. python3-pip fetches the model; the last three are for ./test.
packages=(
  "g++|the compiler"
  "cmake|the build"
  "ninja-build|the build"
  "pkg-config|the build finds libraries with it"
  "libdnnl-dev|matrix products"
  "nlohmann-json3-dev|JSON output"
  "libcli11-dev|the command line"
  "libfmt-dev|formatted output"
  "libspdlog-dev|logging"
  "libpcre2-dev|the tokenizer's regular expressions"
  "libutf8proc-dev|Unicode normal forms in tokenizers"
  "libjs-chart.js|the charts of HTML reports"
  "ca-certificates|downloading the model"
  "python3|unpacking the model, test scripts"
  "python3-pip|downloading the model"
  "libgtest-dev|the tests"
  "librapidcheck-dev|the tests of the KV cache"
  "python3-numpy|the tests' oracle"
)

# What ./test alone needs, and older releases may not have.
# shellcheck disable=SC2034 # for who sources this
test_packages=(
  "clang-19|the fuzzers"
  "libclang-rt-19-dev|the fuzzers"
  "chromium|the test of HTML reports"
)

say() { printf '%s\n' "headwise: $*" >&2; }
die() { say "$*"; exit 1; }

install_packages() {
  if ! command -v dpkg-query > /dev/null; then
    say "no dpkg here, so nothing is installed; needed are: ${packages[*]%%|*}"
    return
  fi
  local entry name missing=()
  for entry in "${packages[@]}"; do
    name=${entry%%|*}
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2> /dev/null) != installed ]]; then
      missing+=("$name")
      say "missing: $name (${entry#*|})"
    fi
  done
  if ((${#missing[@]} == 0)); then return; fi

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo > /dev/null ||
      die "cannot install ${missing[*]}: not root, and there is no sudo; install them and try again"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} packages with ${as_root[*]:+sudo }apt-get"
  "${as_root[@]}" apt-get update -qq >&2 || say "apt-get update failed; trying with the lists at hand"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
    die "apt-get could not install ${missing[*]} (its message is above)"
}

# build PRESET [TARGET...]: configures and builds below build/PRESET; the log goes to stderr.
build() {
  local preset=$1 targets=()
  if (($# > 1)); then targets=(--target "${@:2}"); fi
  if command -v ccache > /dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
    export CMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CUDA_COMPILER_LAUNCHER-ccache}
  fi
  # shellcheck disable=SC2154 # root is the caller's
  (cd "$root" && configure "$preset" && cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}") >&2
}

has_gpu() { compgen -G '/dev/nvidia[0-9]*' > /dev/null || [[ -e /dev/dxg ]]; }

export -n HEADWISE_CUDA_ROWS # of the build; the program warns of variables that it does not know

# What CMake says of a preset is of interest where it fails.
configure() {
  local log options=()
  if [[ -n ${HEADWISE_CUDA_ROWS+set} ]]; then
    options=("-DHEADWISE_CUDA_ROWS=$HEADWISE_CUDA_ROWS")
  elif [[ $1 == release && ! -e $root/build/release/CMakeCache.txt ]] && ! has_gpu; then
    # All CUDA kernels take minutes to compile: the program hardly needs them where there is no GPU.
    options=("-DHEADWISE_CUDA_ROWS=bf16_d128")
  fi
  log=$(cmake --preset "$1" --log-level=WARNING "${options[@]}" 2>&1) || {
    printf '%s\n' "$log"
    return 1
  }
}
