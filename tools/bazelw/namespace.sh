# shellcheck shell=sh
# Runs commands in a root of Debian packages, in a private mount namespace: the root's /usr and /etc
# are mounted over the machine's, and all other paths stay. Nothing remains mounted afterwards, and
# no root user is needed. User namespaces still nest, so that Bazel's linux-sandbox works, which it
# cannot in a chroot.

# Processes in a root see this file; it names the root and the cache. Tests use another file.
INSIDE_MARKER=${BAZELW_INSIDE_MARKER:-/etc/rules_dnn-root}

# namespace_options prints the options of unshare that work on this machine.
namespace_options() {
  for options in "--mount" "--user --map-root-user --mount"; do
    # shellcheck disable=SC2086 # a list of options
    if unshare $options true 2>/dev/null; then
      printf '%s\n' "$options"
      return
    fi
  done
  return 1
}

require_namespaces() {
  has unshare || fail "unshare is not installed" "install util-linux"
  [ "$(readlink -f /bin)" = /usr/bin ] ||
    fail "/bin is not a link to /usr/bin" "the offline set-up needs a machine with a merged /usr"
  namespace_options >/dev/null ||
    fail "this kernel or container does not let you make mount namespaces" \
      "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or" \
      "kernel.apparmor_restrict_unprivileged_userns=0), or start the container with" \
      "--security-opt seccomp=unconfined, or set BAZEL to a Bazel of your own"
}

# enter ROOT COMMAND... replaces this process by the command, which runs in the root.
enter() {
  # shellcheck disable=SC2046 # a list of options
  exec unshare $(namespace_options) --propagation private \
    sh "$BAZELW_HOME/enter.sh" "$CACHE" "${MODULES-}" "$@"
}
