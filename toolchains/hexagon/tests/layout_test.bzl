"""Tests of layout.bzl."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load("//toolchains/cc:features.bzl", "vendor_features")
load("//toolchains/hexagon:layout.bzl", "PROGRAMS", "REQUIRED", "compile_flags", "include_directories", "link_flags", "newest")

def _newest_impl(ctx):
    env = unittest.begin(ctx)
    for names, want in [
        (["8.4.11"], "8.4.11"),
        (["8.7.06", "19.0.04", "8.10.01"], "19.0.04"),
        (["8.10.01", "8.9.99"], "8.10.01"),
        (["readme", "8.4", ".hidden", "v8"], "8.4"),
        (["readme"], None),
        ([], None),
    ]:
        asserts.equals(env, want, newest(names), repr(names))
    return unittest.end(env)

_newest_test = unittest.make(_newest_impl)

def _includes_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, [
        "incs",
        "incs/stddef",
        "ipc/fastrpc/incs",
        "rtos/qurt/computev73/include",
        "rtos/qurt/computev73/include/qurt",
        "rtos/qurt/computev73/include/posix",
    ], include_directories("v73"))
    return unittest.end(env)

_includes_test = unittest.make(_includes_impl)

def _words(features, action):
    return [
        flag
        for feature in features
        if feature.name == "default_flags"
        for set in feature.flag_sets
        if action in set.actions
        for group in set.flag_groups
        for flag in group.flags
    ]

def _flags_impl(ctx):
    env = unittest.begin(ctx)
    features = vendor_features(compile_flags("v68"), link_flags("v68", "SDK/Tools"))
    asserts.equals(env, [
        "-no-canonical-prefixes",
        "-mv68",
        "-G0",
        "-Wall",
        "-ffile-compilation-dir=.",
        "-Wno-builtin-macro-redefined",
        "-D__DATE__=\"redacted\"",
        "-D__TIME__=\"redacted\"",
        "-D__TIMESTAMP__=\"redacted\"",
    ], _words(features, "c++-compile"))
    asserts.equals(env, [
        "-no-canonical-prefixes",
        "-mv68",
        "-G0",
        "-fpic",
        "-Wl,-Bsymbolic",
        "-Wl,-LSDK/Tools/target/hexagon/lib/v68/G0/pic",
        "-Wl,-LSDK/Tools/target/hexagon/lib",
        "-Wl,--no-threads",
        "-Wl,--wrap=malloc",
        "-Wl,--wrap=calloc",
        "-Wl,--wrap=free",
        "-Wl,--wrap=realloc",
        "-Wl,--wrap=memalign",
        "-lc",
    ], _words(features, "c++-link-dynamic-library"))

    # Bazel adds -fPIC and -shared by these.
    names = [feature.name for feature in features]
    asserts.true(env, "supports_pic" in names and "supports_dynamic_linker" in names)
    asserts.false(env, "supports_start_end_lib" in names, "not each linker of the SDK knows --start-lib")
    for name in REQUIRED:
        asserts.true(env, name in PROGRAMS)
    return unittest.end(env)

_flags_test = unittest.make(_flags_impl)

def layout_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    unittest.suite(name, _newest_test, _includes_test, _flags_test)
