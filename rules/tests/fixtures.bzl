"""Helpers that the tests of the rules share."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest")

# Analysis needs toolchains, but no compiler on this machine.
SETTINGS = {
    "//command_line_option:extra_toolchains": [str(Label("//rules/tests/fake:" + name)) for name in ["dnnc_toolchain", "cc_toolchain"]],
    "//command_line_option:platforms": str(Label("//platforms:linux_x86_64")),
}

# Only the tests build the targets under test.
MANUAL = ["manual"]

def platform_settings(platform):
    """Returns SETTINGS for another platform."""
    return SETTINGS | {"//command_line_option:platforms": str(Label(platform))}

def only_action(env, mnemonic):
    """Returns the only action of the target under test that has a mnemonic.

    Args:
      env: the test's environment.
      mnemonic: the mnemonic.

    Returns:
      The action.
    """
    found = [action for action in analysistest.target_actions(env) if action.mnemonic == mnemonic]
    if len(found) != 1:
        fail("%d actions are %s, want one" % (len(found), mnemonic))
    return found[0]

def arguments(env, mnemonic):
    """Returns an action's command line without the program, and with paths relative to bin/.

    Args:
      env: the test's environment.
      mnemonic: the action's mnemonic.
    """
    return [_without_root(arg) for arg in only_action(env, mnemonic).argv[1:]]

def _without_root(arg):
    # In --external=LOCATION=PATH, the path follows the second =.
    option, root, rest = arg.partition("=bazel-out/")
    return option + "=" + rest.partition("/bin/")[2] if root else arg

def paths(files):
    """Returns the sorted paths of files, relative to their repositories."""
    return sorted([file.short_path for file in files])
