"""Supported NDKs: releases, hosts and ABIs."""

# The releases that rules_dnn supports. All have the same layout.
FIRST_RELEASE = 26
LAST_RELEASE = 29

# Android 5.0, the first version with 64-bit ABIs, which the NDK still supports.
FIRST_API_LEVEL = 21

# The NDK's directories of tools, by host. On macOS the tools run on both processors.
HOSTS = {
    "darwin-x86_64": struct(
        constraints = ["@platforms//os:macos"],
        suffix = "",
    ),
    "linux-x86_64": struct(
        constraints = ["@platforms//os:linux", "@platforms//cpu:x86_64"],
        suffix = "",
    ),
    "windows-x86_64": struct(
        constraints = ["@platforms//os:windows", "@platforms//cpu:x86_64"],
        suffix = ".exe",
    ),
}

# Bazel's names of processors, and the NDK's target triples without the API level.
TRIPLES = {
    "aarch64": "aarch64-linux-android",
    "x86_64": "x86_64-linux-android",
}

def host_of(os_name, os_arch):
    """Returns the directory of tools that run on a machine.

    Args:
      os_name: the operating system, as in repository_os.name.
      os_arch: the processor, as in repository_os.arch.

    Returns:
      The name of the directory, or None.
    """
    if os_name.startswith("mac"):
        return "darwin-x86_64"
    if os_arch not in ["amd64", "x86_64"]:
        return None
    if os_name.startswith("windows"):
        return "windows-x86_64"
    return "linux-x86_64" if os_name == "linux" else None

def revision_of(source_properties):
    """Returns the revision in an NDK's file source.properties.

    Args:
      source_properties: the file's text.

    Returns:
      The revision, such as "27.2.12479018", or None.
    """
    for line in source_properties.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "Pkg.Revision":
            return value.strip()
    return None

def is_known(revision):
    """Reports whether a revision belongs to a release that rules_dnn supports.

    Args:
      revision: the result of revision_of.

    Returns:
      A bool.
    """
    release = (revision or "").partition(".")[0]
    return release.isdigit() and int(release) >= FIRST_RELEASE and int(release) <= LAST_RELEASE
