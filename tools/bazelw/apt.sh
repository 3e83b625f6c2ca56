# shellcheck shell=sh
# Downloads Debian packages with apt, into private folders: the machine's own packages are not
# touched, and no root user is needed.

# debian_mirrors prints the machine's own mirrors, from whatever form its apt sources have.
debian_mirrors() {
  if [ -n "${BAZELW_MIRROR-}" ]; then
    printf '%s\n' "$BAZELW_MIRROR"
    return
  fi
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 2>/dev/null |
    awk '$3 == "main" && $2 !~ /-/ && !seen[$1]++ { print $1 }'
}

# apt_download FOLDER fills FOLDER/archives with the closure of packages.txt. The folder may hold
# what an interrupted download left.
apt_download() {
  apt_configure "$1"
  mirrors=$(debian_mirrors)
  [ -n "$mirrors" ] || fail "no Debian mirror is in this machine's apt sources" \
    "set BAZELW_MIRROR to the address of one, or BAZEL to a Bazel of your own"
  for mirror in $mirrors; do
    apt_sources "$1" "$mirror"
    if apt_private "$1" update; then
      apt_fetch "$1"
      return
    fi
  done
  tail -n 5 "$1/log" >&2
  fail "no Debian mirror returned the lists of trixie and sid (tried: $(echo "$mirrors" | tr '\n' ' '))" \
    "is the network up? Set BAZELW_MIRROR to use another mirror; the whole log is $1/log"
}

# apt_fetch takes from sid what trixie does not have; if those do not fit together one day, all from sid.
apt_fetch() {
  for from in pinned sid; do
    apt_preferences "$1" "$from"
    # shellcheck disable=SC2046 # a list of packages
    apt_private "$1" -y --download-only install $(package_names all) && return
    say "the packages ($from) did not download; the log is $1/log"
  done
  tail -n 15 "$1/log" >&2
  fail "Debian's packages could not be downloaded" "run bazelw again: what has arrived is kept"
}

# package_names all|sid prints names from packages.txt: all, or those that come from sid.
package_names() {
  sed 's/#.*//' "$BAZELW_HOME/packages.txt" |
    awk -v which="$1" '
      which == "all" && ($1 == "trixie" || $1 == "sid") { for (i = 2; i <= NF; i++) print $i }
      which == "sid" && ($1 == "sid" || $1 == "sid-libraries") { for (i = 2; i <= NF; i++) print $i }'
}

apt_private() {
  folder=$1
  shift
  APT_CONFIG=$folder/apt.conf apt-get -q "$@" </dev/null >>"$folder/log" 2>&1
}

apt_configure() {
  for program in apt-get apt-config dpkg-deb tar; do
    has "$program" || fail "this machine has no $program" \
      "the offline set-up is made of Debian packages: set BAZELW_ROOT to a root prepared on another" \
      "machine, or BAZEL to a Bazel of your own"
  done
  mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
  : >"$1/status"
  : >"$1/log"
  apt_conf "$1" >"$1/apt.conf"
}

# apt_conf prints a configuration that takes proxies and credentials from the machine, no more.
apt_conf() {
  apt-config dump 2>/dev/null | grep -E '^Acquire::(https?|Retries|Force|Check-Date)' || true
  cat <<X
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "$1/preferences";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$1/state";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
Dir::Log "$1";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Debug::NoLocking "true";
X
}

apt_sources() {
  signed=
  for keyring in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
    [ ! -r "$keyring" ] || signed="[signed-by=$keyring]"
  done
  for suite in trixie sid; do
    printf 'deb %s %s %s main\n' "$signed" "$2" "$suite"
  done >"$1/sources.list"
  : >"$1/preferences"
}

apt_preferences() {
  case $2 in
    pinned)
      printf 'Package: *\nPin: release n=sid\nPin-Priority: 100\n\n'
      printf 'Package: %s\nPin: release n=sid\nPin-Priority: 990\n' "$(package_names sid | tr '\n' ' ')"
      ;;
    sid) printf 'Package: *\nPin: release n=sid\nPin-Priority: 990\n' ;;
  esac >"$1/preferences"
}
