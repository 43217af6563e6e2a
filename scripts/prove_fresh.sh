#!/usr/bin/env bash
# Proves that a machine with nothing but Debian 12, bash and git can do `./run` and `./test`: builds such a system
# in a folder with debootstrap, clones HEAD into it, and runs both there, the second one without a network.
#
#   scripts/prove_fresh.sh [--setup-only] [FOLDER]
#
# --setup-only stops after the set-up. FOLDER (new or empty) is kept for a look; without one, a temporary folder
# is used and removed. Needs root, debootstrap, 3 GB of disk and a network; takes about 15 minutes. Sources, proxy
# and certificates are those of this machine's apt, pip and CA store. All mounts are made in a mount namespace of
# their own and end with it, whatever happens.
set -euo pipefail

say() { printf '%s\n' "prove_fresh: $*" >&2; }
die() { say "$*"; exit 1; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
release=bookworm

# Debian's sources of this machine's apt, as lines of a sources.list.
debian_sources() {
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sed -n "s/^Debian \(deb [^ ]* $release\)/\1/p" | sort -u
}

# What pip, git and TLS need to know to reach the network from here.
network_environment() {
  local name
  for name in $(compgen -e); do
    case $name in
      PIP_* | SSL_CERT_* | *_CA_BUNDLE | *_[pP][rR][oO][xX][yY]) printf '%s=%s\n' "$name" "${!name}" ;;
    esac
  done
}

make_system() {
  local tree=$1 sources mirror
  sources=$(debian_sources)
  mirror=$(sed -n "s/^deb \([^ ]*\) $release main.*/\1/p" <<< "$sources" | head -n 1)
  [[ -n $mirror ]] || die "apt's configuration names no source of Debian's $release"
  if [[ -z ${http_proxy:-} ]]; then
    eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
    if [[ -n ${http_proxy:-} ]]; then export http_proxy; fi
  fi
  debootstrap --variant=minbase --include=git "$release" "$tree" "$mirror" > "$tree.log" ||
    die "debootstrap failed; see $tree.log"
  rm -f "$tree.log"

  printf '%s\n' "$sources" > "$tree/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(https?|Check-)' > "$tree/etc/apt/apt.conf.d/90host" || true
  local file
  for file in /etc/hosts /etc/resolv.conf /etc/pip.conf; do
    if [[ -e $file ]]; then cp -L "$file" "$tree$file"; fi
  done
  if [[ -d /usr/local/share/ca-certificates ]]; then
    cp -RL /usr/local/share/ca-certificates "$tree/usr/local/share/"
  fi
  git clone --quiet --no-hardlinks "$root" "$tree/headwise"
}

# in_system TREE COMMAND: with a clean environment, below the mounts of this namespace.
in_system() {
  local tree=$1 environment
  mapfile -t environment < <(network_environment)
  chroot "$tree" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${environment[@]}" \
    bash -c "cd /headwise && $2"
}

timed() {
  local name=$1 start=$SECONDS
  shift
  say "$name ..."
  "$@" || die "$name failed after $((SECONDS - start)) s"
  say "$name: done in $((SECONDS - start)) s"
}

# The part in namespaces of its own.
prove() {
  local tree=$1 setup_only=$2
  mount -t proc proc "$tree/proc"
  mount --rbind --make-rslave /sys "$tree/sys"
  mount -t tmpfs -o mode=1777 tmpfs "$tree/dev/shm"
  # shellcheck disable=SC2016 # the inner shell expands it
  timed "set-up" in_system "$tree" 'root=/headwise && source scripts/setup.sh && packages+=("${test_packages[@]}") &&
    install_packages'
  if [[ $setup_only == yes ]]; then return; fi
  timed "./run" in_system "$tree" ./run
  export -f in_system network_environment
  # shellcheck disable=SC2016 # the inner shell expands it
  timed "./test, without a network" unshare --net bash -euc 'in_system "$1" ./test' - "$tree"
}

if [[ ${1:-} == --in-namespace ]]; then
  prove "$2" "$3"
  exit
fi

setup_only=no
if [[ ${1:-} == --setup-only ]]; then
  setup_only=yes
  shift
fi
((EUID == 0)) || die "needs root, for debootstrap and chroot"
command -v debootstrap > /dev/null || die "needs debootstrap: apt-get install debootstrap"

if (($# > 0)); then
  mkdir -p "$1"
  tree=$(cd "$1" && pwd)
  [[ -z $(ls -A "$tree") ]] || die "$tree is not empty"
else
  tree=$(mktemp -d /var/tmp/headwise-fresh.XXXXXX)
  trap 'rm -rf --one-file-system "$tree"' EXIT
fi
chmod 755 "$tree"

say "HEAD is $(git -C "$root" rev-parse --short HEAD), the system goes to $tree"
timed "Debian $release with bash and git" make_system "$tree"
unshare --mount --pid --fork --kill-child "${BASH_SOURCE[0]}" --in-namespace "$tree" "$setup_only"
say "proved"
