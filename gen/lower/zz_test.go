package lower
import ("testing";"fmt";"os";"rules_dnn/gen/ir")
func TestZZ(t *testing.T) {
	b, env := convolution(t, ir.F32, os.Getenv("ZZ"), "x86_64_v4", true)
	env.Winograd = true
	ks, err := Winograd(b, env)
	if err != nil { t.Fatal(err) }
	l := ks[len(ks)-1]
	fmt.Println(l.Name); fmt.Println(l.Schedule); fmt.Println(l.Kernel)
}
