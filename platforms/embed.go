// Package platforms embeds the chips and devices of this repository, so that programs find them in
// any directory.
package platforms

import "embed"

// Files has chips/chips.bzl and devices/*.json, with paths relative to this directory.
//
//go:embed chips/chips.bzl devices/*.json
var Files embed.FS
