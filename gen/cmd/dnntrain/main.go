// Command dnntrain trains and prunes networks.
//
//	dnntrain FOLDER                     the built-in trainer: runs the job in a folder (docs/trainers.md)
//	dnntrain fit -model=M -data=D ...   trains a network
//	dnntrain admm -model=M -data=D ...  prunes a network by ADMM, with any trainer
//	dnntrain check -model=M -data=D -- TRAINER...  holds a trainer against the protocol
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dnntrain:", err)
		os.Exit(1)
	}
}
