"""Names that generated code uses in C, C++ and include paths."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_DIGITS = "0123456789"
_API_PUNCTUATION = "-.+/"

# Names that are reserved in C or C++: keywords, macros that headers and compilers may define, and
# the standard library's namespace. A test compares them with gen/emit/ctext/ident.go of dnnc.
_TAKEN = {word: None for line in """
    EOF I INFINITY NAN NULL alignas alignof and and_eq arm asm assert auto bitand bitor bool break
    case catch char char16_t char32_t char8_t class co_await co_return co_yield compl complex
    concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum errno explicit export extern false float for friend goto hexagon
    hpux i386 if imaginary inline int int16_t int32_t int64_t int8_t intptr_t linux long main mips
    mutable namespace new noexcept noreturn not not_eq nullptr operator or or_eq private protected
    ptrdiff_t public register reinterpret_cast requires restrict return sgi short signed size_t
    sizeof sparc static static_assert static_cast std stderr stdin stdout struct sun switch template
    this thread_local throw true try typedef typeid typename typeof typeof_unqual uint16_t uint32_t
    uint64_t uint8_t uintptr_t union unix unsigned using vax virtual void volatile wchar_t while xor
    xor_eq
""".split("\n") for word in line.split(" ") if word}

# The prefix of the runtime's C names, and its C++ namespace.
_OURS = ["dnn", "rules_dnn"]

def _is_taken(text):
    return text in _TAKEN or text in _OURS

def _mangle(text):
    return "".join([c if c in _LETTERS or c in _DIGITS else "_" for c in text.elems()])

def c_prefix(package, api):
    """Returns the default prefix of a model's C names, such as app_model for //app:model.

    Args:
      package: the package of the model's target.
      api: the name of its header.
    """
    prefix = _mangle(package + "/" + api if package else api)
    return "m" + prefix if prefix[0] in _DIGITS or _is_taken(prefix) else prefix

def shown_label(label):
    """Returns a label as users write it on the command line, without the main repository's name."""
    return str(label) if label.repo_name else "//%s:%s" % (label.package, label.name)

def is_identifier(text):
    """Reports whether the text is a C identifier."""
    return bool(text) and text[0] not in _DIGITS and _mangle(text) == text

def is_prefix(text):
    """Reports whether the text is an identifier that is free as a prefix of C names."""
    return is_identifier(text) and text not in _OURS

def is_namespace(text):
    """Reports whether the text is a C++ namespace without reserved names, such as a or a::b."""
    return all([is_identifier(part) and not _is_taken(part) for part in text.split("::")])

def is_api(text):
    """Reports whether the text is a relative path that all file systems accept."""
    plain = all([c in _LETTERS or c in _DIGITS or c in _API_PUNCTUATION for c in text.elems()])
    return plain and all([part not in ("", ".", "..") for part in text.split("/")])

def location(file, src):
    """Returns the path by which an ONNX model names a file of its external data.

    The path is relative to the model's directory. For a file outside it, such as one that another
    package generates, the path is relative to the file's own package.

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
