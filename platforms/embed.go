// Package platforms holds the chips and the devices that the repository knows, so that programs find them wherever they run.
package platforms

import "embed"

// Files are chips/chips.bzl and devices/*.json, at their places below this folder.
//
//go:embed chips/chips.bzl devices/*.json
var Files embed.FS
