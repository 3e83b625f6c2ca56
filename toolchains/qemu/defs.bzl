"""Rules that run a program for another platform under an emulator."""

load("//toolchains/qemu/private:emulated.bzl", _emulated_binary = "emulated_binary", _emulated_test = "emulated_test")

emulated_binary = _emulated_binary
emulated_test = _emulated_test
