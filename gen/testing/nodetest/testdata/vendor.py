"""Makes node.zip from the wheels of PyPI's onnx that ship backend/test/data/node.

    python vendor.py onnx-NEWEST.whl onnx-OLDER.whl...

Run it with the newest onnx installed: its schemas tell the since-version of an
operator. A case of an older wheel is taken only if it tests another version of
some operator than the case of the same name of a newer wheel. The same wheels
give the same bytes. Releases used: 1.22.0 1.19.1 1.12.0 1.8.1 1.4.1 1.1.2 (releases
from 1.23 on ship no data).

The archive holds index.txt and blobs named by their content, because many cases
share inputs. Lines of index.txt:
    case NAME RELEASE MODEL INPUT,INPUT... OUTPUT,OUTPUT...
    left NAME RELEASE REASON...
"""

import collections
import hashlib
import re
import sys
import zipfile

import onnx

README = """Vendored from PyPI's onnx (releases %s), backend/test/data/node; made by testdata/vendor.py; do not edit.
Copyright (c) ONNX Project Contributors, Apache-2.0 (see LICENSE and NOTICE).
"""

TYPES = set(
    "BOOL INT4 INT8 INT16 INT32 INT64 UINT4 UINT8 UINT16 UINT32 UINT64 FLOAT16 BFLOAT16 FLOAT DOUBLE".split()
)
# What a case is left for, by its element types, its operators or its name. These, and other
# domains than ai.onnx, are all that is left.
LEFT_TYPES = [
    (re.compile(r"STRING"), "strings"),
    (re.compile(r"FLOAT8"), "float8"),
    (re.compile(r"FLOAT4"), "float4"),
    (re.compile(r"U?INT2$"), "int2 and uint2"),
]
LEFT_OPS = {
    "Bernoulli": "random numbers",
    "ImageDecoder": "images",
    "OptionalGetElement": "optionals",
    "OptionalHasElement": "optionals",
}
LEFT_NAMES = [
    (re.compile(r"bernoulli"), "random numbers"),
    (re.compile(r"test_training_dropout(?!_zero_ratio)"), "random numbers"),
]
NO_OPSET = "experimental operators that no opset has"


def reason_to_leave(name, model):
    """Says why a case is not vendored, or returns None."""
    for pattern, reason in LEFT_NAMES:
        if pattern.search(name):
            return reason
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx"):
            return "domain " + node.domain
        if node.op_type in LEFT_OPS:
            return LEFT_OPS[node.op_type]
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return kind.replace("_type", "s")
        elem = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
        if elem not in TYPES:
            return next(reason for pattern, reason in LEFT_TYPES if pattern.match(elem))
    return None


def versions(model):
    """The since-versions of the model's operators, or None for unknown operators."""
    opset = max([o.version for o in model.opset_import if o.domain in ("", "ai.onnx")], default=1)
    try:
        return tuple(
            (n.op_type, onnx.defs.get_schema(n.op_type, opset).since_version)
            for n in model.graph.node
        )
    except onnx.defs.SchemaError:
        return None


def folders(wheel):
    """The files of each case: {case: {path in the case: path in the wheel}}."""
    found = collections.defaultdict(dict)
    for path in wheel.namelist():
        match = re.search(r"backend/test/data/node/([^/]+)/(.+)$", path)
        if match:
            found[match[1]][match[2]] = path
    return sorted((c, f) for c, f in found.items() if "model.onnx" in f)


def data_sets(files):
    """Yields (inputs, outputs), paths in the wheel, for each data set."""
    for number in sorted({int(m[1]) for m in (re.match(r"test_data_set_(\d+)/", f) for f in files) if m}):
        def of(kind):
            prefix = "test_data_set_%d/%s_" % (number, kind)
            count = sum(f.startswith(prefix) for f in files)
            return [files["%s%d.pb" % (prefix, i)] for i in range(count)]
        yield of("input"), of("output")


def main():
    wheels = [a for a in sys.argv[1:] if not a.startswith("-")]
    blobs, lines, seen, left, releases = {}, [], set(), set(), []
    counts = collections.Counter()

    def blob(data):
        key = hashlib.sha256(data).hexdigest()[:16]
        assert blobs.setdefault(key, data) == data
        return key

    for path in wheels:
        release = re.search(r"onnx-([0-9.]+)-", path)[1]
        releases.append(release)
        wheel = zipfile.ZipFile(path)
        for name, files in folders(wheel):
            raw = wheel.read(files["model.onnx"])
            model = onnx.load_from_string(raw)
            key = versions(model)
            reason = reason_to_leave(name, model) or (None if key else NO_OPSET)
            if reason:
                if name not in left:
                    lines.append("left %s %s %s" % (name, release, reason))
                    counts["left: " + reason] += 1
                left.add(name)
                continue
            if (name, key) in seen:
                continue
            seen.add((name, key))
            counts[release] += 1
            for inputs, outputs in data_sets(files):
                lines.append(
                    "case %s %s %s %s %s"
                    % (
                        name,
                        release,
                        blob(raw),
                        ",".join(blob(wheel.read(f)) for f in inputs) or "-",
                        ",".join(blob(wheel.read(f)) for f in outputs) or "-",
                    )
                )
    write("node.zip", README % " ".join(releases), lines, blobs)
    for what, count in sorted(counts.items()):
        print(count, what)


def write(path, readme, lines, blobs):
    """Writes the archive with fixed dates; LICENSE and NOTICE are the wheel's, in this folder."""
    entries = [("README", readme.encode())]
    for name in ("LICENSE", "NOTICE"):
        with open(name, "rb") as f:
            entries.append((name, f.read()))
    entries.append(("index.txt", ("\n".join(lines) + "\n").encode()))
    entries += [("blobs/" + k, v) for k, v in sorted(blobs.items())]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


main()
