"""Constraint values and platforms, derived from the chips (//platforms/chips:chips.bzl)."""

def constraints_of(chips):
    """Returns the constraint values of //platforms that choose chips.

    Args:
      chips: entries by name, such as CHIPS.

    Returns:
      A dict from the values' names to their settings.
    """
    settings = {}
    for chip in chips.values():
        for setting, value in chip["constraints"].items():
            package, _, name = value.partition(":")
            if package == "//platforms":
                settings[name] = setting
    return settings

def platforms_of(chips, systems):
    """Returns platforms SYSTEM_CHIP for each chip whose CPU is a constraint value of @platforms.

    Args:
      chips: entries by name, such as CHIPS.
      systems: names of operating systems in @platforms//os.

    Returns:
      A dict from the platforms' names to their constraint values.
    """
    return {
        "%s_%s" % (system, name): ["@platforms//os:" + system] + chip["constraints"].values()
        for system in systems
        for name, chip in chips.items()
        if chip["constraints"]["@platforms//cpu"].startswith("@platforms//")
    }

def bare_platforms_of(chips):
    """Returns a platform with the chip's name for each chip without an operating system (DSPs).

    Args:
      chips: entries by name, such as CHIPS.

    Returns:
      A dict from the platforms' names to their constraint values.
    """
    return {
        name: chip["constraints"].values()
        for name, chip in chips.items()
        if not chip["constraints"]["@platforms//cpu"].startswith("@platforms//")
    }
