"""What an NDK must be: its releases, the machines it runs on, the ABIs it builds for."""

# The releases that rules_dnn is made for; all have the same layout.
FIRST_RELEASE = 26
LAST_RELEASE = 29

# Android 5.0, the first with 64-bit ABIs that the NDK still builds for.
FIRST_API_LEVEL = 21

# The NDK's folder of tools for each kind of machine. On a Mac the tools are for both processors.
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

# Bazel's name of the processor, and the NDK's name of the target without the API level.
TRIPLES = {
    "aarch64": "aarch64-linux-android",
    "x86_64": "x86_64-linux-android",
}

def host_of(os_name, os_arch):
    """Finds the tools that run on a machine.

    Args:
      os_name: the operating system, as repository rules see it.
      os_arch: the processor, likewise.

    Returns:
      The name of their folder, or None.
    """
    if os_name.startswith("mac"):
        return "darwin-x86_64"
    if os_arch not in ["amd64", "x86_64"]:
        return None
    if os_name.startswith("windows"):
        return "windows-x86_64"
    return "linux-x86_64" if os_name == "linux" else None

def revision_of(source_properties):
    """Reads an NDK's file source.properties.

    Args:
      source_properties: the file's text.

    Returns:
      The revision, as in "27.2.12479018", or None.
    """
    for line in source_properties.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "Pkg.Revision":
            return value.strip()
    return None

def is_known(revision):
    """Says whether a revision is of a release that rules_dnn is made for.

    Args:
      revision: what revision_of returned.

    Returns:
      A bool.
    """
    release = (revision or "").partition(".")[0]
    return release.isdigit() and int(release) >= FIRST_RELEASE and int(release) <= LAST_RELEASE
