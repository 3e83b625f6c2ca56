# shellcheck shell=sh
# Prints what bazelw found on this machine, and what it would do.

doctor() {
  row "how Bazel runs" "$MODE ($WHY)"
  row "cache" "$CACHE, $(doctor_free)"
  row "Go" "$(doctor_go)"
  case $MODE in
    offline | prepared | inside) doctor_root ;;
    *) row "Bazel" "$BAZEL_PROGRAM, $("$BAZEL_PROGRAM" --version 2>/dev/null || echo 'which does not run')" ;;
  esac
  row "sandbox" "$(doctor_sandbox)"
}

row() { printf '%-16s %s\n' "$1:" "$2"; }

doctor_free() {
  dir=$CACHE
  while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
  df -Pk "$dir" | awk 'NR == 2 { printf "%d MiB free", $4 / 1024 }'
}

doctor_go() {
  if find_go; then
    printf '%s, %s\n' "$(command -v go)" "$(go env GOVERSION)"
  else
    printf 'not found: install Go 1.24 or newer under /usr/local/go\n'
  fi
}

doctor_root() {
  if [ -r "$ROOT/$PACKAGE_LIST" ]; then
    row "root" "$ROOT, $(wc -l <"$ROOT/$PACKAGE_LIST") packages"
    row "Bazel" "$(doctor_package bazel-bootstrap)"
    row "clang" "$(doctor_package clang)"
    row "qemu" "$(doctor_package qemu-user)"
  elif [ "$MODE" = prepared ]; then
    row "root" "$ROOT is not a root made by bazelw"
  else
    row "root" "$ROOT, not there yet: the next command makes it from $(debian_mirrors | head -n 1)"
  fi
  row "namespaces" "$(namespace_options || echo 'NOT allowed here: Bazel cannot run in the root')"
  doctor_old
}

# doctor_old lists folders of earlier versions of bazelw in the cache.
doctor_old() {
  for old in "$CACHE"/root-* "$CACHE"/modules-*; do
    case $old in
      "$ROOT" | "$CACHE/modules-$(modules_key)" | *'*') ;;
      *) row "old" "$old (shut its Bazel servers down, then remove it)" ;;
    esac
  done
}

# doctor_package NAME prints a package's version, from the name of its archive.
doctor_package() { sed -n "s/^$1_\(.*\)_[a-z0-9]*\.deb\$/\1/p" "$ROOT/$PACKAGE_LIST" | sed 's/%3a/:/'; }

# doctor_sandbox runs Bazel's own sandbox in the environment where Bazel would run it.
doctor_sandbox() {
  if [ "$MODE" != given ] && [ "$MODE" != system ] && [ ! -r "$ROOT/$PACKAGE_LIST" ]; then
    echo "not known until the root exists"
  elif (run_in_root "$(doctor_sandbox_program)" -- /bin/true) >/dev/null 2>&1; then
    echo "linux-sandbox is active"
  else
    echo "linux-sandbox is NOT active: user namespaces do not nest here; Bazel uses processwrapper-sandbox, which isolates less"
  fi
}

doctor_sandbox_program() {
  case $MODE in
    given | system) printf '%s/linux-sandbox\n' "$("$BAZEL_PROGRAM" info install_base 2>/dev/null)" ;;
    *) echo /usr/share/bazel/linux-sandbox ;;
  esac
}
