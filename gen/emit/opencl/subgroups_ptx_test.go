package opencl_test

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
)

//go:embed testdata/items.h
var items string

var (
	shuffleFloat = regexp.MustCompile(`__asm__ volatile\("shfl\.sync\.idx\.b32 %0, %1, %2, 31, -1;" : "=f"\(y\) : "f"\(x\), "r"\((.*)\)\);`)
	kernelInCXX  = regexp.MustCompile(`(?s)__attribute__\(\(reqd_work_group_size\((\d+), 1, 1\)\)\)\nDNN_OF_SUB_GROUPS\n__kernel void (\w+)\(`)
)

// TestSubGroupsPTX: what items of warps exchange by PTX's shfl.sync, which PoCL does not compile, makes the same bytes as what they share in memory. Kernels run as
// C++ with a thread for each item, and testdata/items.h has the meaning of the instruction.
func TestSubGroupsPTX(t *testing.T) {
	cxx, err := exec.LookPath("clang++")
	if err != nil {
		t.Skip("no clang++ here: run this under ./bazelw exec")
	}
	d := exchanging(t, "opencl_nvidia")
	for name, m := range map[string]*model{"softmax": scores, "layer norm": normalized} {
		t.Run(name, func(t *testing.T) {
			src, err := opencl.Print(compile(t, m.graph(t), d), d)
			require.NoError(t, err)
			require.Len(t, src.Calls, 1)
			kernel := kernelInCXX.FindStringSubmatch(src.Text)
			require.NotNil(t, kernel)
			text := shuffleFloat.ReplaceAllString(src.Text, "y = Shuffle(x, $1);")
			require.NotEqual(t, src.Text, text)
			require.NotContains(t, text, "__asm__")

			var buffers, args []string
			last := len(src.Calls[0].Args) - 1
			for i, a := range src.Calls[0].Args {
				n, known := a.Value.Static()
				require.True(t, known)
				size := int64(1)
				for _, e := range n {
					size *= e
				}
				if i == last {
					buffers = append(buffers, fmt.Sprintf("std::vector<float> together(%d), alone(%d);", size, size))
					break
				}
				buffers = append(buffers, fmt.Sprintf("const std::vector<float> x%d = Random(%d);", i, size))
				args = append(args, fmt.Sprintf("x%d.data(), 0", i))
			}
			run := func(space, to string) string {
				return fmt.Sprintf("  Groups(2, %s, [&] { %s::%s(%s, %s.data(), 0); });\n", kernel[1], space, kernel[2], strings.Join(args, ", "), to)
			}
			program := items + "#define DNN_TOGETHER\nnamespace exchanging {\n" + text + "}\n#undef DNN_TOGETHER\n#undef DNN_OF_SUB_GROUPS\n#undef INT64_C\nnamespace sharing {\n" + text +
				"}\nint main() {\n  " + strings.Join(buffers, "\n  ") + "\n" + run("exchanging", "together") + run("sharing", "alone") + "  Compare(together, alone);\n}\n"
			dir := t.TempDir()
			file, binary := filepath.Join(dir, "items.cc"), filepath.Join(dir, "items")
			require.NoError(t, os.WriteFile(file, []byte(program), 0o644))
			out, err := exec.Command(cxx, "-std=c++17", "-O1", "-w", "-pthread", file, "-o", binary).CombinedOutput()
			require.NoError(t, err, string(out))
			out, err = exec.Command(binary).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, "ok\n", string(out))
		})
	}
}
