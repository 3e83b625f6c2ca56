// The Bazel rule sets that the Go module proxy serves, for machines without the public Bazel module
// registry. Their versions and those in /MODULE.bazel go together.
module rules_dnn/tools/bazelw/modules

go 1.24

require (
	github.com/bazelbuild/bazel-gazelle v0.47.0
	github.com/bazelbuild/rules_go v0.59.0
)
