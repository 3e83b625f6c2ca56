"""The module extension that finds qemu's user-mode emulators."""

load(":repository.bzl", "qemu_repository")

def _qemu_impl(_module_ctx):
    qemu_repository(name = "rules_dnn_qemu")

qemu = module_extension(
    implementation = _qemu_impl,
    doc = "Defines rules_dnn_qemu: a target for each emulator in repository.bzl.",
)
