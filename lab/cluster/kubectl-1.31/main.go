// Command kubectl-1.31 is kubectl as Kubernetes 1.31 has it, for the tests of debug sessions.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
