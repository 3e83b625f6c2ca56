# shellcheck shell=sh
# Functions that all parts of bazelw share: messages, the cache folder and its lock.

say() { printf 'bazelw: %s\n' "$*" >&2; }

# fail WHAT CURE... ends with an error and its remedy.
fail() {
  printf 'bazelw: error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# cache_dir prints the folder of everything that bazelw creates. Paths that are not absolute are
# ignored, as the XDG specification demands.
cache_dir() {
  case ${XDG_CACHE_HOME-} in
    /*) printf '%s/rules_dnn\n' "$XDG_CACHE_HOME" && return ;;
  esac
  case ${HOME-} in
    /*) printf '%s/.cache/rules_dnn\n' "$HOME" ;;
    *) fail "neither HOME nor XDG_CACHE_HOME is an absolute path" "set one of them: bazelw keeps its cache there" ;;
  esac
}

# digest FILE... prints a short hash of the contents of files.
digest() { cat -- "$@" | sha256sum | cut -c 1-12; }

# locked COMMAND... runs a shell function while no other bazelw provisions. The lock is released
# however its process ends, and is closed before a Bazel server could inherit it.
locked() {
  has flock || fail "flock is not installed" "install util-linux"
  mkdir -p "$CACHE" || fail "cannot write $CACHE" "set XDG_CACHE_HOME to a folder you can write to"
  (
    if ! flock -n 9; then
      say "waiting for another bazelw that is setting up $CACHE"
      flock 9
    fi
    "$@"
  ) 9>"$CACHE/lock"
}

free_mib() { df -Pk "$CACHE" | awk 'NR == 2 { print int($4 / 1024) }'; }

# require_space NEED_MIB fails before the download if there is too little space.
require_space() {
  [ "$(free_mib)" -ge "$1" ] ||
    fail "$CACHE has $(free_mib) MiB free, the offline set-up needs $1 MiB" \
      "free some space, or set XDG_CACHE_HOME to a folder on a larger disk"
}

# find_go adds the machine's Go to PATH: rules_go builds with it, and bazelw fetches modules by it.
find_go() {
  if ! has go && [ -x /usr/local/go/bin/go ]; then
    PATH=$PATH:/usr/local/go/bin
    export PATH
  fi
  has go
}

go_cure() {
  fail "$1" "install Go 1.24 or newer under /usr/local/go (or anywhere outside /usr), with go on PATH"
}

# require_go also rejects a Go that the offline root's /usr would hide.
require_go() {
  find_go || go_cure "go was not found"
  case $(readlink -f "$(command -v go)") in
    /usr/local/*) ;;
    /usr/*) go_cure "the Go in $(command -v go) is hidden by the offline set-up's own /usr" ;;
  esac
}
