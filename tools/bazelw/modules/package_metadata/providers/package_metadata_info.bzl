"""The provider that package_metadata targets return."""

PackageMetadataInfo = provider(
    doc = "Where a package comes from.",
    fields = {"purl": "string: the package URL."},
)
