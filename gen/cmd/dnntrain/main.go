// Command dnntrain trains and prunes networks: `dnnc train`, without the compiler.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"rules_dnn/gen/cmd/command"
)

func main() {
	err := command.Run(os.Args[1:], os.Stdout)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "dnntrain:", err)
	os.Exit(1)
}
