# shellcheck shell=sh
# Makes a folder of Bazel modules for a machine without the public module registry: rule sets that
# the Go module proxy serves, and stand-ins for what they only name.

# Modules that must resolve and of which nothing is loaded.
EMPTY_MODULES="protobuf zlib apple_support"

# Modules of which a little is loaded, in modules/.
STAND_INS="buildozer package_metadata"

MODULES_FORMAT=2 # raised when modules_make changes

modules_key() {
  printf '%s-%s\n' "$MODULES_FORMAT" \
    "$(digest "$BAZELW_HOME/modules/go.sum" "$BAZELW_HOME"/modules/*/*.bzl "$BAZELW_HOME"/modules/*/*/*.bzl)"
}

modules_provision() {
  MODULES=$CACHE/modules-$(modules_key)
  [ -d "$MODULES" ] || locked modules_make
}

# modules_make works aside, as root_make does.
modules_make() {
  [ ! -d "$MODULES" ] || return 0
  say "fetching Bazel modules from the Go module proxy (once)"
  partial=$CACHE/modules.partial
  root_clear "$partial"
  mkdir -p "$partial/downloads"
  cp "$BAZELW_HOME/modules/go.mod" "$BAZELW_HOME/modules/go.sum" "$partial/downloads/"
  module_from_proxy github.com/bazelbuild/rules_go rules_go
  module_from_proxy github.com/bazelbuild/bazel-gazelle gazelle
  module_vendor gazelle
  module_host_go
  for name in $EMPTY_MODULES; do module_empty "$name"; done
  for name in $STAND_INS; do cp -R "$BAZELW_HOME/modules/$name" "$partial/$name"; done
  mv "$partial" "$MODULES"
}

# module_from_proxy PATH NAME copies a Go module, checked against go.sum, to a writable folder.
# Module archives lose execute bits.
module_from_proxy() {
  dir=$(cd "$partial/downloads" && GOWORK=off GOFLAGS=-mod=mod go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
  [ -n "$dir" ] || fail "the Go module proxy did not return $1" \
    "is the network up? go env GOPROXY prints where modules come from"
  cp -R "$dir" "$partial/$2"
  chmod -R u+w "$partial/$2"
  find "$partial/$2" -name '*.sh' -exec chmod +x {} +
}

# module_vendor NAME makes the vendor folder that module archives leave out.
module_vendor() {
  (cd "$partial/$1" && GOFLAGS=-mod=mod GOWORK=off go mod vendor -e >"$partial/log" 2>&1) ||
    { tail -n 5 "$partial/log" >&2 && fail "cannot fetch the Go modules that $1 needs"; }
}

# module_host_go makes the machine's Go the default that rules_go gives every workspace: the release
# it would download cannot be had here.
module_host_go() {
  sed -i '/^go_sdk.from_file(/,/^)/c\go_sdk.host(name = "go_default_sdk")' "$partial/rules_go/MODULE.bazel"
  sed -i '/in enumerate(module.tags.host)/,/fail(/s/if not module.is_root:/if not module.is_root and module.name != "rules_go":/' \
    "$partial/rules_go/go/private/extensions.bzl"
  { grep -q '^go_sdk.host(' "$partial/rules_go/MODULE.bazel" &&
    grep -q 'module.name != "rules_go":' "$partial/rules_go/go/private/extensions.bzl"; } ||
    fail "this rules_go is not the one that bazelw knows" "module_host_go in $BAZELW_HOME/modules.sh goes with one version"
}

module_empty() {
  mkdir "$partial/$1"
  printf 'module(name = "%s")\n' "$1" >"$partial/$1/MODULE.bazel"
  : >"$partial/$1/BUILD.bazel"
}
