package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// features are toolchain features and modes that users enable for a whole build. With each of
// them, a program with a model must print the same.
var features = []struct {
	name  string
	flags []string
}{
	{"parse_headers", []string{"--features=parse_headers", "--process_headers_in_dependencies"}},
	{"layering_check", []string{"--repo_env=CC=clang", "--features=layering_check", "--features=parse_headers"}},
	{"thin_lto", []string{"--repo_env=CC=clang", "--features=thin_lto"}},
	{"lto", []string{"--repo_env=CC=clang", "--copt=-flto", "--linkopt=-flto"}},
	{"asan", []string{"--features=asan"}},
	{"fully_static_link", []string{"--features=fully_static_link"}},
	{"opt", []string{"--compilation_mode=opt"}},
}

// cppFeatures builds a program and a model's archive with each feature.
func cppFeatures(t *testing.T, w *workspace) {
	for _, f := range features {
		t.Run(f.name, func(t *testing.T) {
			w.bazel(t, "build", append(f.flags, "//:features", "//:relu_here")...)
			assert.Equal(t, "0.5 0 1.5 5", run(t, "", filepath.Join(w.bin(t, f.flags...), "features")))
		})
	}
	t.Run("coverage", func(t *testing.T) { coverage(t, w) })
}

// merger replaces the program that merges coverage data, because Bazel would download it.
const merger = `#!/bin/sh
for a in "$@"; do case $a in --output_file=*) : >"${a#--output_file=}" ;; esac; done
`

// coverage runs `bazel coverage` for a test of a model.
func coverage(t *testing.T, w *workspace) {
	dir := filepath.Join(w.dir, "coverage")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "merge.sh"), []byte(merger), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "BUILD"), []byte(`load("@rules_cc//cc:cc_test.bzl", "cc_test")

filegroup(
    name = "merger",
    srcs = ["merge.sh"],
    visibility = ["//visibility:public"],
)

cc_test(
    name = "test",
    srcs = [
        "//:features.cc",
        "//:print_row.h",
    ],
    deps = ["//:relu_for_baseline"],
)
`), 0o644))
	w.bazel(t, "coverage", "--combined_report=none", "--coverage_output_generator=//coverage:merger", "--coverage_report_generator=//coverage:merger", "//coverage:test")
}

// nextFlags are flags that newer releases of Bazel flip, if the modules of the offline set-up
// work with them. These do not work:
//   - --incompatible_stop_exporting_language_modules: rules_cc 0.0.11 exports no CcInfo with it;
//   - --incompatible_no_rule_outputs_param: Bazel 7's own rules need that parameter;
//   - --noincompatible_enable_deprecated_label_apis: the rules_license there uses them.
var nextFlags = []string{
	"--incompatible_auto_exec_groups",
	"--incompatible_check_testonly_for_output_files",
	"--incompatible_check_visibility_for_toolchains",
	"--incompatible_config_setting_private_default_visibility",
	"--incompatible_default_to_explicit_init_py",
	"--incompatible_disable_native_android_rules",
	"--incompatible_disable_native_apple_binary_rule",
	"--incompatible_disable_native_repo_rules",
	"--incompatible_disable_starlark_host_transitions",
	"--incompatible_disable_target_provider_fields",
	"--incompatible_disallow_empty_glob",
	"--incompatible_disallow_struct_provider_syntax",
	"--incompatible_enable_apple_toolchain_resolution",
	"--incompatible_enable_proto_toolchain_resolution",
	"--incompatible_modify_execution_info_additive",
	"--incompatible_no_implicit_file_export",
	"--incompatible_no_implicit_watch_label",
	"--incompatible_python_disallow_native_rules",
	"--incompatible_strict_action_env",
	"--incompatible_struct_has_no_methods",
	"--incompatible_top_level_aspects_require_providers",
	"--incompatible_use_cc_configure_from_rules_cc",
	"--incompatible_use_plus_in_repo_names",
	"--noenable_workspace",
}

// nextBazel analyzes all kinds of targets with the flags of newer Bazel releases.
func nextBazel(t *testing.T, w *workspace) {
	if version := bazelVersion(t); version[0] != '7' {
		t.Skip("Bazel " + version + " may not know the flags")
	}
	w.bazel(t, "build", append([]string{"--nobuild"}, append(nextFlags, "//:abis", "//:relu_arm64", "//:relu_arm64_bench", "//:relu.tune", "//:relu_arm64.tune",
		"//:relu_hvx", "//:benchmark", "@rules_dnn//:add", "@rules_dnn//tools/compare")...)...)
}
