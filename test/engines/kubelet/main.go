//go:build unix

// Command kubelet stands in for the nodes of a Kubernetes cluster in tests.
// It registers nodes with given numbers of GPUs, and runs the first container of
// every pod scheduled on them as a process of this machine, whatever its image: no
// container engine and no GPU is needed for training. API server, scheduler and
// controllers are the real ones.
//
// It reports the state of nodes and pods, serves the output of containers to the
// API server, gives every pod an address in 127.0.0.0/8 and, in place of DNS,
// replaces names under the pod's service by addresses in the environment. It ends
// deleted pods, by SIGTERM first, and kills a pod that exceeds its memory limit, as
// reported by the kernel.
//
// An image whose name begins with "missing/" cannot be pulled. A node with a file
// DIR/lost/NODE stops reporting.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"knee/internal/kube"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	dir := flag.String("dir", "", "folder whose lost/NODE takes a node away")
	var nodes []nodeSpec
	flag.Func("node", "NAME,key=value,… to register; keys cpu, memory, gpus, gpu_type, taint", func(s string) error {
		n, err := parseNode(s)
		nodes = append(nodes, n)
		return err
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *kubeconfig, *dir, nodes); err != nil {
		log.Fatal(err)
	}
}

// nodeSpec is a node to register.
type nodeSpec struct {
	name, cpu, memory, gpus, gpuType, taint string
}

func parseNode(s string) (nodeSpec, error) {
	n := nodeSpec{cpu: "16", memory: "64Gi"}
	for i, part := range strings.Split(s, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case i == 0:
			n.name = part
		case key == "cpu":
			n.cpu = value
		case key == "memory":
			n.memory = value
		case key == "gpus":
			n.gpus = value
		case key == "gpu_type":
			n.gpuType = value
		case key == "taint":
			n.taint = value
		default:
			return n, fmt.Errorf("%q is unknown", part)
		}
	}
	return n, nil
}

// agent is the stand-in for all its nodes.
type agent struct {
	client *kube.Client
	dir    string
	nodes  map[string]bool
	port   int // of the server that the API server asks for output

	mu   sync.Mutex
	pods map[string]*process // by namespace/name
	wait sync.WaitGroup
}

func run(ctx context.Context, kubeconfig, dir string, nodes []nodeSpec) error {
	client, err := kube.Load(kube.Settings{Kubeconfig: kubeconfig})
	if err != nil {
		return err
	}
	a := &agent{client: client, dir: dir, nodes: map[string]bool{}, pods: map[string]*process{}}
	a.serve(ctx)
	for _, n := range nodes {
		a.nodes[n.name] = true
		if err := a.register(ctx, n); err != nil {
			return err
		}
		go a.heartbeat(ctx, n.name)
	}
	fmt.Println("ready")
	err = kube.Follow[pod](ctx, client, kube.Watch{Path: kube.PodsPath("")}, func(c kube.Change[pod]) error {
		a.podChanged(ctx, c)
		return nil
	})
	a.mu.Lock()
	for _, p := range a.pods {
		p.signal(syscall.SIGKILL)
	}
	a.mu.Unlock()
	a.wait.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lost reports whether a node is to be silent.
func (a *agent) lost(node string) bool {
	_, err := os.Stat(filepath.Join(a.dir, "lost", node))
	return err == nil
}
