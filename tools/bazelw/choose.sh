# shellcheck shell=sh
# Decides which Bazel runs.

# choose_bazel sets MODE (inside, given, system, prepared, offline), WHY, BAZEL_PROGRAM, CACHE and,
# where Bazel runs in a root of Debian packages, ROOT.
choose_bazel() {
  BAZEL_PROGRAM=bazel
  ROOT=
  if [ -r "$INSIDE_MARKER" ]; then
    choose_inside
    return
  fi
  CACHE=$(cache_dir)
  if [ -n "${BAZEL-}" ]; then
    MODE=given WHY="\$BAZEL is set" BAZEL_PROGRAM=$BAZEL
  elif [ -n "${BAZELW_ROOT-}" ]; then
    MODE=prepared WHY="\$BAZELW_ROOT is set" ROOT=$(readlink -f -- "$BAZELW_ROOT" || echo "$BAZELW_ROOT")
  elif choose_system; then
    MODE=system WHY="$BAZEL_PROGRAM reaches the public module registry"
  else
    MODE=offline ROOT=$CACHE/root-$(root_key)
  fi
}

# A Bazel test may run bazelw again: it is in the root already, and keeps its cache.
choose_inside() {
  MODE=inside WHY="this process is already in a root set up by bazelw"
  CACHE=$(sed -n 's/^cache=//p' "$INSIDE_MARKER")
  ROOT=$(sed -n 's/^root=//p' "$INSIDE_MARKER")
  find_go || true
}

choose_system() {
  for program in bazel bazelisk; do
    has "$program" || continue
    BAZEL_PROGRAM=$(command -v "$program")
    usable_bazel "$BAZEL_PROGRAM" && return
  done
  WHY=${WHY:-"no bazel or bazelisk is on PATH"}
  BAZEL_PROGRAM=bazel
  return 1
}

# usable_bazel PROGRAM: the answer is remembered when it is yes, and when the offline root exists.
usable_bazel() {
  known=$CACHE/online-$(readlink -f "$1" | sha256sum | cut -c 1-12)
  [ ! -e "$known" ] || return 0
  if [ -d "$CACHE/root-$(root_key)" ]; then
    WHY="the offline set-up is there already, and $1 was not seen to reach the registry"
    return 1
  fi
  modern_bazel "$1" && reaches_registry "$1" || return 1
  mkdir -p "$CACHE" && : >"$known"
}

modern_bazel() {
  version=$("$1" --version 2>/dev/null | sed -n 's/^bazel[a-z]* *v*\([0-9][0-9.]*\).*/\1/p')
  major=${version%%.*}
  minor=${version#*.}
  minor=${minor%%.*}
  case $major.$minor in
    [0-9]*.[0-9]*) ;;
    *) WHY="$1 --version prints no version" && return 1 ;;
  esac
  { [ "$major" -gt 7 ] || { [ "$major" -eq 7 ] && [ "$minor" -ge 7 ]; }; } ||
    { WHY="$1 is $version, older than 7.7" && return 1; }
}

# reaches_registry PROGRAM asks Bazel itself to resolve one module from its own default registry, so
# that proxies, certificates and mirrors in its configuration count.
reaches_registry() {
  say "asking $1 whether it reaches the module registry"
  scratch=$(mktemp -d)
  printf 'module(name = "probe")\nbazel_dep(name = "platforms", version = "0.0.10")\n' >"$scratch/MODULE.bazel"
  if (cd "$scratch" && timeout 120 "$1" --batch --output_base="$scratch/out" mod graph) >/dev/null 2>&1; then
    reached=0
  else
    reached=1 WHY="$1 does not reach the public module registry"
  fi
  chmod -R u+w "$scratch" && rm -rf "$scratch"
  return $reached
}
