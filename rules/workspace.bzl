"""For workspaces without modules (--noenable_bzlmod --enable_workspace).

    load("@rules_dnn//rules:workspace.bzl", "rules_dnn_toolchains")

    rules_dnn_toolchains()

It needs the repositories bazel_skylib, platforms and rules_cc in the versions of MODULE.bazel or
newer. It does not need Go rules.
"""

load("//toolchains/cc:repository.bzl", "clang_repository")
load("//toolchains/dnnc:repository.bzl", "dnnc_repository")

def rules_dnn_toolchains(name = "rules_dnn_dnnc", go = None):
    """Builds the compiler with this machine's go command, and registers it and the chips.

    Args:
      name: the compiler's repository; `bazel run @NAME//:add` writes BUILD files.
      go: absolute path of the go command. Default: the one on PATH.
    """
    dnnc_repository(
        name = name,
        go = go,
    )

    # For register_toolchains("@rules_dnn//toolchains/cc:linux_arm64"). Bazel looks for clang only
    # if a build uses this toolchain.
    clang_repository(name = "rules_dnn_clang")
    native.register_toolchains(
        "@%s//:all" % name,
        # The order does not matter, because no platform meets the constraints of two chips.
        str(Label("//platforms/chips:all")),
    )
