"""The module extension that Bazel's own module uses; only `bazel mod tidy` needs what it defines."""

def _buildozer_repository_impl(rctx):
    buildozer = rctx.which("buildozer")
    if not buildozer:
        fail("bazel mod tidy needs buildozer on PATH")
    rctx.symlink(buildozer, "buildozer.exe")
    rctx.file("BUILD.bazel", "exports_files([\"buildozer.exe\"])\n")

_buildozer_repository = repository_rule(
    implementation = _buildozer_repository_impl,
    local = True,
)

def _buildozer_binary_impl(_module_ctx):
    _buildozer_repository(name = "buildozer_binary")

buildozer_binary = module_extension(implementation = _buildozer_binary_impl)
