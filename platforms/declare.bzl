"""What follows from the data of chips (//platforms/chips:chips.bzl): constraint values and platforms."""

def constraints_of(chips):
    """Finds the constraint values of //platforms that choose chips.

    Args:
      chips: entries by name, as CHIPS.

    Returns:
      Their settings by the values' names.
    """
    settings = {}
    for chip in chips.values():
        for setting, value in chip["constraints"].items():
            package, _, name = value.partition(":")
            if package == "//platforms":
                settings[name] = setting
    return settings

def platforms_of(chips, systems):
    """Makes platforms SYSTEM_CHIP for each chip of a processor that @platforms knows.

    Args:
      chips: entries by name, as CHIPS.
      systems: names of operating systems, as in @platforms//os.

    Returns:
      Their constraint values by their names.
    """
    return {
        "%s_%s" % (system, name): ["@platforms//os:" + system] + chip["constraints"].values()
        for system in systems
        for name, chip in chips.items()
        if chip["constraints"]["@platforms//cpu"].startswith("@platforms//")
    }

def bare_platforms_of(chips):
    """Makes a platform named as the chip for each chip that runs no operating system of @platforms: a DSP.

    Args:
      chips: entries by name, as CHIPS.

    Returns:
      Their constraint values by their names.
    """
    return {
        name: chip["constraints"].values()
        for name, chip in chips.items()
        if not chip["constraints"]["@platforms//cpu"].startswith("@platforms//")
    }
