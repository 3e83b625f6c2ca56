"""The package_metadata macro."""

load("//providers:package_metadata_info.bzl", "PackageMetadataInfo")

def _package_metadata_impl(ctx):
    return [PackageMetadataInfo(purl = ctx.attr.purl)]

_package_metadata = rule(
    implementation = _package_metadata_impl,
    attrs = {"purl": attr.string(doc = "The package URL.")},
    doc = "Says where a package comes from.",
)

def package_metadata(name, purl = None, visibility = None, **_kwargs):
    """Says where a package comes from.

    Args:
      name: the target's name.
      purl: the package URL.
      visibility: who may use it.
      **_kwargs: what the real module also takes; nothing reads it here.
    """
    _package_metadata(
        name = name,
        # A repository's default licence is this very target: it must not depend on itself.
        applicable_licenses = [],
        purl = purl,
        visibility = visibility,
    )
