// Command controlplane is the Kubernetes control plane in one program: the first
// argument names the component, the others are its arguments. The components share
// most of their code, so one program takes about half the build time of three.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	components := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kube-controller-manager": manager.NewControllerManagerCommand,
	}
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane kube-apiserver|kube-scheduler|kube-controller-manager FLAGS")
		os.Exit(2)
	}
	command := components[os.Args[1]]()
	os.Args = append(os.Args[:1:1], os.Args[2:]...)
	os.Exit(cli.Run(command))
}
