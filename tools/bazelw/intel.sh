# shellcheck shell=sh
# A second OpenCL driver for tests: Intel's processor driver from PyPI, in addition to the root's
# PoCL. It runs on any x86-64 processor, has sub-groups, and vectorizes with another compiler.

# The packages of the driver; a new version makes a new folder. The first two need the others.
INTEL_VERSION=2026.2.0
INTEL_PACKAGES="intel-opencl-rt==$INTEL_VERSION intel-cmplr-lib-rt==$INTEL_VERSION"

INTEL_MIB=1200 # the packages (230), their unpacked files (830), and a reserve

intel_dir() { printf '%s/intel-opencl-%s\n' "$CACHE" "$INTEL_VERSION"; }

# intel_provision creates the driver's folder. If it cannot, it prints the reason and returns 1.
intel_provision() {
  INTEL=$(intel_dir)
  [ ! -d "$INTEL" ] || return 0
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || {
    say "no Intel OpenCL driver: it is for x86-64 Linux, this is $(uname -s) $(uname -m)"
    return 1
  }
  (locked intel_make)
}

# intel_make works in a temporary folder, like root_make.
intel_make() {
  [ ! -d "$INTEL" ] || return 0
  python3 -m pip --version >/dev/null 2>&1 || {
    say "no Intel OpenCL driver: this machine has no python3 with pip"
    return 1
  }
  [ "$(free_mib)" -ge $INTEL_MIB ] || {
    say "no Intel OpenCL driver: $CACHE has $(free_mib) MiB free, and it needs $INTEL_MIB"
    return 1
  }
  partial=$CACHE/intel.partial
  rm -rf "$partial"
  say "fetching Intel's OpenCL driver from PyPI (once: about 230 MB)"
  # shellcheck disable=SC2086 # a list of packages
  if ! python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --only-binary :all: \
    --prefix "$partial" $INTEL_PACKAGES >"$CACHE/intel.log" 2>&1; then
    tail -n 3 "$CACHE/intel.log" >&2
    rm -rf "$partial"
    say "no Intel OpenCL driver: pip could not install $INTEL_PACKAGES; the log is $CACHE/intel.log"
    return 1
  fi
  [ -e "$partial/lib/libintelocl.so" ] || {
    say "no Intel OpenCL driver: $INTEL_PACKAGES have no lib/libintelocl.so"
    return 1
  }
  mv "$partial" "$INTEL"
}

# intel_use lets the ICD loader find only this driver.
intel_use() {
  mkdir -p "$INTEL/no-other-drivers"
  export OCL_ICD_VENDORS="$INTEL/no-other-drivers"
  export OCL_ICD_FILENAMES="$INTEL/lib/libintelocl.so"
  export LD_LIBRARY_PATH="$INTEL/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}
