"""Tests of the names that generated code uses."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load("//rules/private:names.bzl", "c_prefix", "is_api", "is_identifier", "is_namespace", "is_prefix", "location")

def _c_prefix_impl(ctx):
    env = unittest.begin(ctx)
    for package, api, want in [
        ("app", "model", "app_model"),
        ("", "model", "model"),
        ("a/b-c", "net.v2", "a_b_c_net_v2"),
        ("", "2d", "m2d"),
        ("3d", "net", "m3d_net"),
        ("a", "x/y", "a_x_y"),
        ("", "int", "mint"),
        ("", "default", "mdefault"),
        ("", "std", "mstd"),
        ("", "dnn", "mdnn"),
    ]:
        asserts.equals(env, want, c_prefix(package, api))
        asserts.true(env, is_prefix(want) and is_namespace(want))
    return unittest.end(env)

_c_prefix_test = unittest.make(_c_prefix_impl)

def _valid_impl(ctx):
    env = unittest.begin(ctx)
    for valid, right, wrong in [
        (is_api, ["model", "a/b", "net-v2.1+x", "2d"], ["", "/a", "a/", "a//b", ".", "../a", "a b", "a\"", "é"]),
        (is_identifier, ["a", "_a1"], ["", "1a", "a-b", "a b", "a::b"]),
        (is_prefix, ["a", "int", "dnn_"], ["", "1a", "dnn", "rules_dnn"]),
        (is_namespace, ["a", "a::b_1", "int_", "a::standard"], ["", "a:b", "a::", "::a", "a.b", "a::1", "int", "a::new", "and::b", "std", "std::x", "rules_dnn", "linux", "NULL"]),
    ]:
        for text in right:
            asserts.true(env, valid(text), "%s(%s)" % (valid, repr(text)))
        for text in wrong:
            asserts.false(env, valid(text), "%s(%s)" % (valid, repr(text)))
    return unittest.end(env)

_valid_test = unittest.make(_valid_impl)

def _file(short_path, package):
    return struct(short_path = short_path, basename = short_path.split("/")[-1], owner = struct(package = package))

def _location_impl(ctx):
    env = unittest.begin(ctx)
    for file, src, want in [
        (_file("p/w.bin", "p"), _file("p/m.onnx", "p"), "w.bin"),
        (_file("p/sub/w.bin", "p"), _file("p/m.onnx", "p"), "sub/w.bin"),
        (_file("p/w.bin", "p"), _file("p/models/m.onnx", "p"), "w.bin"),
        (_file("q/d/w.bin", "q"), _file("p/m.onnx", "p"), "d/w.bin"),
        (_file("../repo~/q/d/w.bin", "q"), _file("p/m.onnx", "p"), "d/w.bin"),
        (_file("../repo~/d/w.bin", ""), _file("../repo~/m.onnx", ""), "d/w.bin"),
        (_file("../repo~/d/w.bin", ""), _file("p/m.onnx", "p"), "w.bin"),
        (_file("d/w.bin", ""), _file("m.onnx", ""), "d/w.bin"),
    ]:
        asserts.equals(env, want, location(file, src))
    return unittest.end(env)

_location_test = unittest.make(_location_impl)

def names_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    unittest.suite(name, _c_prefix_test, _valid_test, _location_test)
