"""For workspaces without modules (--noenable_bzlmod --enable_workspace).

    load("@rules_dnn//rules:workspace.bzl", "rules_dnn_toolchains")

    rules_dnn_toolchains()

It needs the repositories bazel_skylib, platforms and rules_cc, of the versions in MODULE.bazel or newer, and no Go rules.
"""

load("//toolchains/cc:repository.bzl", "clang_repository")
load("//toolchains/dnnc:repository.bzl", "dnnc_repository")

def rules_dnn_toolchains(name = "rules_dnn_dnnc", go = None):
    """Builds the compiler with the machine's go, and registers it and the chips.

    Args:
      name: the repository of the compiler; `bazel run @NAME//:add` writes BUILD files.
      go: absolute path of a go. Default: the one on PATH.
    """
    dnnc_repository(
        name = name,
        go = go,
    )

    # For register_toolchains("@rules_dnn//toolchains/cc:linux_arm64"); it is looked for when it is needed.
    clang_repository(name = "rules_dnn_clang")
    native.register_toolchains(
        "@%s//:all" % name,
        # In any order: no platform has the constraints of two.
        str(Label("//platforms/chips:all")),
    )
