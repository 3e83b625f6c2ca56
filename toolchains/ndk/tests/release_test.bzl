"""Tests of release.bzl."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load("//toolchains/ndk:release.bzl", "HOSTS", "host_of", "is_known", "revision_of")

def _revision_impl(ctx):
    env = unittest.begin(ctx)
    for text, want in [
        ("Pkg.Desc = Android NDK\nPkg.Revision = 26.1.10909125\n", "26.1.10909125"),
        ("Pkg.Desc = Android NDK\r\nPkg.Revision = 29.0.13599879-beta2\r\nPkg.ReleaseName = r29-beta2\r\n", "29.0.13599879-beta2"),
        ("Pkg.Revision=27.0.12077973", "27.0.12077973"),
        ("Pkg.BaseRevision = 26.1.10909125\n", None),
        ("", None),
    ]:
        asserts.equals(env, want, revision_of(text))
    return unittest.end(env)

_revision_test = unittest.make(_revision_impl)

def _known_impl(ctx):
    env = unittest.begin(ctx)
    for revision, want in [
        ("25.2.9519653", False),
        ("26.1.10909125", True),
        ("29.0.13599879-beta2", True),
        ("30.0.14033849", False),
        ("", False),
        ("beta", False),
        (None, False),
    ]:
        asserts.equals(env, want, is_known(revision), repr(revision))
    return unittest.end(env)

_known_test = unittest.make(_known_impl)

def _host_impl(ctx):
    env = unittest.begin(ctx)
    for name, arch, want in [
        ("linux", "amd64", "linux-x86_64"),
        ("linux", "aarch64", None),
        ("mac os x", "x86_64", "darwin-x86_64"),
        ("mac os x", "aarch64", "darwin-x86_64"),
        ("windows 11", "amd64", "windows-x86_64"),
        ("windows 11", "aarch64", None),
        ("freebsd", "amd64", None),
    ]:
        asserts.equals(env, want, host_of(name, arch))
        asserts.true(env, want == None or want in HOSTS)
    return unittest.end(env)

_host_test = unittest.make(_host_impl)

def release_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    unittest.suite(name, _revision_test, _known_test, _host_test)
