package data_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
)

func TestReadCluster(t *testing.T) {
	const text = `nodes:
  - {name: "a[01-02],b3", gpu_type: a100, gpus: 8, cpus: 96, memory: 1Ti, price_per_hour: 32.8}
  - &cpu {name: c1, gpu_type: cpu, gpus: 4, drained: true}
  - {<<: *cpu, name: c2, drained: false}
`
	c, err := data.ReadCluster(strings.NewReader(text), "cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := data.Node{Name: "a01", GPUType: "a100", GPUs: 8, CPUs: 96, Memory: 1 << 40, PricePerHour: 32.8}
	a2, b3 := a, a
	a2.Name, b3.Name = "a02", "b3"
	want := []data.Node{a, a2, b3, {Name: "c1", GPUType: "cpu", GPUs: 4, Drained: true}, {Name: "c2", GPUType: "cpu", GPUs: 4}}
	if diff := cmp.Diff(want, c.Nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var b strings.Builder
	if err := data.WriteCluster(&b, c); err != nil {
		t.Fatal(err)
	}
	wantText := `nodes:
  - {name: "a[01-02],b3", gpu_type: a100, gpus: 8, cpus: 96, memory: 1Ti, price_per_hour: 32.8}
  - {name: c1, gpu_type: cpu, gpus: 4, drained: true}
  - {name: c2, gpu_type: cpu, gpus: 4}
`
	if diff := cmp.Diff(wantText, b.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestReadClusterRefuses(t *testing.T) {
	const keys = "name, gpu_type, gpus, cpus, memory, price_per_hour, drained"
	checkFailures(t, []failure{
		{"empty", "", "f: found an empty file, want the keys nodes"},
		{"no nodes", "nodes: []\n", "f:1:nodes: found nothing, want a list of at least one node"},
		{"unknown", "nodes:\n- {name: a, gpu: t4}\n", `f:2:nodes[0].gpu: found an unknown key (did you mean "gpus"?), want one of ` + keys},
		{"not a node", "nodes: [a]\n", `f:1:nodes[0]: found "a", want a mapping with the keys ` + keys},
		{"no gpus", "nodes:\n- {name: a, gpu_type: t4}\n", "f:2:nodes[0].gpus: found nothing, want the number of accelerators, or for cpu the workers the machine may hold"},
		{"no type", "nodes:\n- {name: a, gpus: 1}\n", "f:2:nodes[0].gpu_type: found nothing, want a GPU type, or cpu for machines without accelerators"},
		{"host list", "nodes:\n- {name: 'a[1-', gpu_type: t4, gpus: 1}\n", `f:2:nodes[0].name: found host list "a[1-": [ without ], want a node name or a host list such as a[01-04]`},
		{"twice", "nodes:\n- {name: 'a[1-3]', gpu_type: t4, gpus: 1}\n- {name: a2, gpu_type: t4, gpus: 1}\n",
			`f:3:nodes[1].name: found "a2", which line 2 names too, want each node once`},
		{"memory", "nodes:\n- {name: a, gpu_type: t4, gpus: 1, memory: much}\n", `f:2:nodes[0].memory: found "much", want bytes ≥ 0 such as 80Gi, 1.5Ti, 512M or 1024`},
		{"gpus", "nodes:\n- {name: a, gpu_type: t4, gpus: -1}\n", `f:2:nodes[0].gpus: found "-1", want a whole number from 0 to 1000000000`},
		{"flag", "nodes:\n- {name: a, gpu_type: t4, gpus: 1, drained: yes}\n", `f:2:nodes[0].drained: found "yes", want true or false`},
		{"merge", "nodes:\n- {<<: a, name: a}\n", `f:2:<<: found "a", want a mapping to merge, or a list of them`},
		{"cycle", "nodes: &a [*a]\n", "f:1:nodes[0]: found a list, want a mapping with the keys name, gpu_type, gpus, cpus, memory, price_per_hour, drained"},
		{"merge of itself", "nodes:\n- &a {<<: *a, name: a}\n", "f:2: found values nested or repeated without end, want at most 1048576 values, nested at most 100 deep"},
	}, errorOf(data.ReadCluster))
}

// The price of a GPU is that of the nodes that jobs can get.
func TestPricePerGPU(t *testing.T) {
	c := data.Cluster{Nodes: []data.Node{{Name: "a", GPUType: "t4", GPUs: 2, PricePerHour: 8}, {Name: "old", GPUType: "t4", GPUs: 8, PricePerHour: .8, Drained: true},
		{Name: "b", GPUType: "t4", GPUs: 2, PricePerHour: 4}, {Name: "down", GPUType: "v100", GPUs: 4, PricePerHour: 2, Drained: true}}}
	for gpuType, want := range map[string][3]float64{"t4": {3, 2, 4}, "v100": {.5, .5, .5}, "a100": {}} {
		mean, lo, hi := c.PricePerGPU(gpuType)
		if got := [3]float64{mean, lo, hi}; got != want {
			t.Errorf("%s: %v, want %v", gpuType, got, want)
		}
	}
}

func TestClusterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-b]?[0-9]{1,3}|[a-c]{1,2}`), 1, 20, func(s string) string { return s }).Draw(t, "hosts")
		c := &data.Cluster{}
		for _, h := range hosts {
			n := rapid.SampledFrom([]data.Node{{GPUType: "t4", GPUs: 4, CPUs: 1.5, Memory: 1 << 30}, {GPUType: "123", PricePerHour: 0.1, Drained: true}}).Draw(t, "node")
			n.Name = h
			c.Nodes = append(c.Nodes, n)
		}
		checkRoundTrip(t, c, data.WriteCluster, data.ReadCluster)
	})
}

func FuzzReadCluster(f *testing.F) {
	f.Add("nodes:\n- {name: 'a[01-04]', gpu_type: a100, gpus: 8, cpus: 96, memory: 1Ti, price_per_hour: 32.8}\n")
	f.Add("nodes:\n- &a {name: a, gpu_type: t4, gpus: 1}\n- {<<: [*a], name: b, memory: 1.5G, drained: true}\n")
	f.Add("nodes: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := data.ReadCluster(strings.NewReader(text), "f")
		if err == nil {
			checkRoundTrip(t, c, data.WriteCluster, data.ReadCluster)
		}
	})
}

// The GPU type A100 of a cluster becomes a100; GPUName keeps the spelling.
func TestClusterKeepsNames(t *testing.T) {
	const text = "nodes:\n  - {name: a1, gpu_type: A100, gpus: 4}\n"
	c, err := data.ReadCluster(strings.NewReader(text), "c")
	if err != nil || c.Nodes[0].GPUType != "a100" || c.GPUName("a100") != "A100" || c.GPUName("t4") != "" {
		t.Fatalf("%+v, %v", c, err)
	}
	var b strings.Builder
	if err := data.WriteCluster(&b, c); err != nil || b.String() != text {
		t.Errorf("written %q, %v", b.String(), err)
	}
}
