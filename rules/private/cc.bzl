"""Compiles generated sources with the user's C++ toolchain, as C++ rules do."""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Kernels are optimized in every compilation mode, and compute the same results in each.
_KERNEL_COPTS = [
    "-std=c++17",
    "-O3",
    "-fno-fast-math",
    "-ffp-contract=fast",
    "-fno-math-errno",  # a square root compiles to one instruction
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",  # the header marks the functions that a library exports
]

# Flags for a directory of kernels in C. Bazel compiles it as C++, so its -std= must come after
# Bazel's.
KERNEL_C_COPTS = ["-std=c11"] + [
    flag
    for flag in _KERNEL_COPTS
    if flag not in ["-std=c++17", "-fno-exceptions", "-fno-rtti"]
]

# Toolchain features that do not work with generated code:
# - thin_lto: any linker must accept the archives, so they hold machine code and not bitcode.
# - parse_headers: Bazel parses a header in a directory of sources, and then misses an output.
# - layering_check: kernels include headers that only the public header's module depends on.
_WITHOUT = [
    "layering_check",
    "parse_headers",
    "thin_lto",
]

def cc_setup(ctx):
    """Returns the C++ toolchain of a rule's context, and the features that are enabled."""
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features + _WITHOUT,
    )
    return toolchain, features

def _kernel_outputs(ctx, name, toolchain, features, context, kernels, copts, language = _KERNEL_COPTS):
    _, outputs = cc_common.compile(
        actions = ctx.actions,
        name = name,
        cc_toolchain = toolchain,
        feature_configuration = features,
        srcs = [kernels],
        private_hdrs = [kernels],
        compilation_contexts = [context],
        user_compile_flags = language + copts,
        disallow_nopic_outputs = _only_pic(toolchain, features),
    )
    return outputs

def _weight_outputs(ctx, toolchain, features, assembly, weights):
    # The assembler searches .incbin's file in the directories of -I, and does not list it in the .d
    # file. So the file must be an additional input.
    _, outputs = cc_common.compile(
        actions = ctx.actions,
        name = ctx.label.name + ".weights",
        cc_toolchain = toolchain,
        feature_configuration = features,
        srcs = [assembly],
        includes = [weights.dirname],
        additional_inputs = [weights],
        disallow_nopic_outputs = _only_pic(toolchain, features),
    )
    return outputs

def _only_pic(toolchain, features):
    """Reports whether to compile position-independent objects only, for programs and libraries."""
    return toolchain.needs_pic_for_dynamic_libraries(feature_configuration = features)

def header_context(header, include_dir):
    """Returns a compilation context in which sources find a header.

    Args:
      header: the File.
      include_dir: the directory from which it is included.
    """
    return cc_common.create_compilation_context(
        headers = depset([header]),
        quote_includes = depset([include_dir]),
    )

def compile_and_link(ctx, name, header, include_dir, kernels, copts, assembly, weights, runtime, variants = [], kernels_c = None):
    """Compiles kernels and embedded weights to a library.

    Args:
      ctx: the rule's context.
      name: the library's name.
      header: the File of the public header.
      include_dir: the directory from which sources include it.
      kernels: the directory File of C++ sources and headers.
      copts: flags for the kernels, after all others.
      assembly: the File of assembly that embeds the weights, or None.
      weights: the File of weights.
      runtime: the CcInfo of the runtime library.
      variants: structs of a chip and kernels, a directory of sources to compile with the chip's
        flags.
      kernels_c: the directory File of kernels in C, or None.

    Returns:
      A CcInfo, the File of the static library, and the CcCompilationOutputs in it.
    """
    toolchain, features = cc_setup(ctx)

    # Do not use header_context here: with layering_check, sources may include the header only if
    # they depend on a Clang module that has it.
    public, _ = cc_common.compile(
        actions = ctx.actions,
        name = name + ".header",
        cc_toolchain = toolchain,
        feature_configuration = features,
        public_hdrs = [header],
        quote_includes = [include_dir],
        compilation_contexts = [runtime.compilation_context],
    )

    # Kernels include the header by its base name, because dnnc does not know the package.
    private = cc_common.merge_compilation_contexts(compilation_contexts = [
        public,
        header_context(header, header.dirname),
    ])
    compiled = [_kernel_outputs(ctx, name, toolchain, features, private, kernels, copts)] + [
        _kernel_outputs(ctx, "%s.%s" % (name, variant.chip.name), toolchain, features, private, variant.kernels, variant.chip.copts)
        for variant in variants
    ]
    if kernels_c:
        compiled.append(_kernel_outputs(ctx, name + ".c", toolchain, features, private, kernels_c, copts, KERNEL_C_COPTS))
    if assembly:
        compiled.append(_weight_outputs(ctx, toolchain, features, assembly, weights))
    objects = cc_common.merge_compilation_outputs(compilation_outputs = compiled)
    made = _archive(ctx, name, toolchain, features, objects)
    library = made.pic_static_library or made.static_library

    # Pass only the archive. With objects, Bazel would link the position-dependent ones in some
    # modes (-c opt). The list of these is empty, so Bazel would silently link nothing.
    to_link = cc_common.create_library_to_link(
        actions = ctx.actions,
        cc_toolchain = toolchain,
        feature_configuration = features,
        pic_static_library = made.pic_static_library,
        static_library = None if made.pic_static_library else made.static_library,
    )
    linker_input = cc_common.create_linker_input(
        owner = ctx.label,
        libraries = depset([to_link]),
    )
    linking = cc_common.create_linking_context(
        linker_inputs = depset([linker_input], transitive = [runtime.linking_context.linker_inputs], order = "topological"),
    )
    return (
        CcInfo(compilation_context = public, linking_context = linking),
        library,
        objects,
    )

def archive_with(ctx, name, objects, runtime):
    """Declares a static library of a model's objects and the runtime, for linking without Bazel.

    A program may link two of them: the linker takes the runtime's objects from the first one.

    Args:
      ctx: the rule's context.
      name: the library's name.
      objects: the CcCompilationOutputs of a model.
      runtime: the CcInfo of the runtime library.

    Returns:
      The File of the static library.
    """
    toolchain, features = cc_setup(ctx)
    libraries = [library for entry in runtime.linking_context.linker_inputs.to_list() for library in entry.libraries]
    made = _archive(ctx, name, toolchain, features, cc_common.merge_compilation_outputs(compilation_outputs = [
        objects,
        _compiled_objects(libraries, _only_pic(toolchain, features)),
    ]))
    return made.pic_static_library or made.static_library

def _compiled_objects(libraries, pic):
    objects = depset([file for library in libraries for file in (library.pic_objects if pic else library.objects)])
    return cc_common.create_compilation_outputs(pic_objects = objects) if pic else cc_common.create_compilation_outputs(objects = objects)

def _archive(ctx, name, toolchain, features, objects):
    """Declares a static library and returns it as a LibraryToLink."""
    _, outputs = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = name,
        cc_toolchain = toolchain,
        feature_configuration = features,
        compilation_outputs = objects,
        disallow_dynamic_library = True,
    )
    return outputs.library_to_link

def link_program(ctx, name, source, deps):
    """Compiles a source file and links it to a program.

    Args:
      ctx: the rule's context.
      name: the program's name.
      source: the File.
      deps: CcInfos of libraries.

    Returns:
      The File of the program.
    """
    toolchain, features = cc_setup(ctx)
    _, outputs = cc_common.compile(
        actions = ctx.actions,
        name = name + ".source",
        cc_toolchain = toolchain,
        feature_configuration = features,
        srcs = [source],
    )
    return cc_common.link(
        actions = ctx.actions,
        name = name,
        cc_toolchain = toolchain,
        compilation_outputs = outputs,
        feature_configuration = features,
        linking_contexts = [dep.linking_context for dep in deps],
    ).executable
