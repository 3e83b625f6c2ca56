"""Names that generated code has in C, C++ and include paths."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_DIGITS = "0123456789"
_API_PUNCTUATION = "-.+/"

def _mangle(text):
    return "".join([c if c in _LETTERS or c in _DIGITS else "_" for c in text.elems()])

def c_prefix(package, api):
    """Returns what the C names of a model begin with, as in app_model for //app:model.

    Args:
      package: the package of the model's target.
      api: the name of its header.
    """
    prefix = _mangle(package + "/" + api if package else api)
    return "m" + prefix if prefix[0] in _DIGITS else prefix

def is_identifier(text):
    """Reports whether the text is an identifier of C."""
    return bool(text) and text[0] not in _DIGITS and _mangle(text) == text

def is_namespace(text):
    """Reports whether the text is a C++ namespace: a, or a::b."""
    return all([is_identifier(part) for part in text.split("::")])

def is_api(text):
    """Reports whether the text can name a header: relative, and plain in every file system."""
    plain = all([c in _LETTERS or c in _DIGITS or c in _API_PUNCTUATION for c in text.elems()])
    return plain and all([part not in ("", ".", "..") for part in text.split("/")])

def location(file, src):
    """Finds the location by which an ONNX model names a file of its external data.

    That is its path from the model's directory. A file that is elsewhere, generated in another
    package for instance, has its path from its own package.

    Args:
      file: the File of external data.
      src: the File of the ONNX model.

    Returns:
      The location.
    """
    path = file.short_path
    home = src.short_path[:-len(src.basename)]
    if path.startswith(home):
        return path[len(home):]
    package = file.owner.package + "/"
    at = path.find(package)
    return path[at + len(package):] if len(package) > 1 and at >= 0 else file.basename
