# shellcheck shell=sh
# Creates the offline root: a folder of unpacked Debian packages.

ROOT_MIB=4200 # the packages (650), their unpacked files (2600), and a reserve

ROOT_FORMAT=1 # increase when root_configure changes; each format has its own root

# root_key prints a root's name, which its inputs determine.
root_key() { printf '%s-%s\n' "$ROOT_FORMAT" "$(digest "$BAZELW_HOME/packages.txt")"; }

# root_id prints a hash of the packages in a root: compilers of different versions share no cache.
root_id() { digest "$ROOT/$PACKAGE_LIST"; }

PACKAGE_LIST=etc/rules_dnn-packages

root_require() {
  [ -r "$ROOT/$PACKAGE_LIST" ] ||
    fail "$ROOT is not a root made by bazelw" "unset BAZELW_ROOT, or copy a root-* folder of a bazelw cache there"
  require_namespaces
  require_go
}

root_provision() {
  require_namespaces
  require_go
  [ -d "$ROOT" ] || locked root_make
}

# root_make works in a temporary folder with a fixed name. It replaces the folder of an interrupted
# run, and a root that exists is complete.
root_make() {
  [ ! -d "$ROOT" ] || return 0
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    fail "the offline set-up is for x86-64 Linux, this is $(uname -s) $(uname -m)" "set BAZEL to a Bazel of your own"
  require_space $ROOT_MIB
  say "setting up Bazel, clang and qemu from Debian packages in $CACHE (once: about 650 MB, one minute)"
  apt=$CACHE/apt.partial
  partial=$CACHE/root.partial
  say "1/3 downloading packages"
  apt_download "$apt"
  say "2/3 unpacking $(find "$apt/cache/archives" -name '*.deb' | wc -l) packages"
  root_clear "$partial"
  root_unpack "$apt/cache/archives" "$partial"
  root_configure "$partial"
  say "3/3 checking"
  root_check "$partial"
  rm -rf "$apt"
  mv "$partial" "$ROOT"
}

root_clear() { [ ! -e "$1" ] || { chmod -R u+w "$1" && rm -rf "$1"; }; }

root_unpack() {
  mkdir -p "$2/usr/bin" "$2/usr/sbin" "$2/usr/lib" "$2/usr/lib64" "$2/usr/local" "$2/run"
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$2/$dir"; done
  for deb in "$1"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" --keep-directory-symlink --no-same-owner ||
      root_not_unpacked "$deb"
  done
  find "$1" -name '*.deb' -exec basename {} \; | LC_ALL=C sort >"$2/$PACKAGE_LIST"
}

# root_not_unpacked PACKAGE reports a package that cannot be unpacked. The likeliest cause is a full
# disk; then the package itself is intact.
root_not_unpacked() {
  [ "$(free_mib)" -ge 64 ] ||
    fail "the disk is full: $CACHE has $(free_mib) MiB free" \
      "free $ROOT_MIB MiB, or set XDG_CACHE_HOME to a folder on a larger disk"
  rm -f "$1"
  fail "cannot unpack ${1##*/}" "run bazelw again: it downloads the package again"
}

# root_configure performs the relevant steps of the packages' installation scripts.
root_configure() {
  for program in "$1"/usr/lib/jvm/java-*-openjdk-amd64/bin/*; do
    ln -sf "..${program#"$1/usr"}" "$1/usr/bin/${program##*/}"
  done
  ln -sf gcc "$1/usr/bin/cc"
  ln -sf g++ "$1/usr/bin/c++"
  ln -sf gawk "$1/usr/bin/awk"
  ln -sf which.debianutils "$1/usr/bin/which"
  # The files over which enter.sh mounts the machine's own files.
  mkdir -p "$1/etc/ssl/certs"
  for file in ssl/certs/ca-certificates.crt passwd group hosts resolv.conf rules_dnn-root; do
    : >"$1/etc/$file"
  done
}

root_check() {
  for command in "bazel --version" "clang --version" "qemu-aarch64 --version" "go version"; do
    # shellcheck disable=SC2086 # a command and its argument
    (enter "$1" $command) >"$1/run.log" 2>&1 ||
      { tail -n 5 "$1/run.log" >&2 && fail "$command does not run in the new root" "the packages do not fit together; the root is $1"; }
  done
  rm -f "$1/run.log"
}
