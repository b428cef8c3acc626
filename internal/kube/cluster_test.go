package kube_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/data"
	"knee/internal/kube"
)

func TestCluster(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"items":[
{"metadata":{"name":"t1","labels":{"nvidia.com/gpu.product":"Tesla-T4"}},"spec":{"taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"}]},
 "status":{"allocatable":{"cpu":"3920m","memory":"16Gi","nvidia.com/gpu":"2","nvidia.com/hostdev":"8"},"conditions":[{"type":"Ready","status":"True"}]}},
{"metadata":{"name":"a1","labels":{"nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB"}},"spec":{"unschedulable":true},
 "status":{"allocatable":{"cpu":"96","memory":"1056Gi","nvidia.com/gpu":"8","nvidia.com/mig-1g.5gb":"7"}}},
{"metadata":{"name":"c1"},"spec":{"taints":[{"key":"soft","effect":"PreferNoSchedule"}]},"status":{"allocatable":{"cpu":"7910m","memory":"32Gi","gpu.intel.com/i915":"4"},"conditions":[{"type":"Ready","status":"Unknown"}]}},
{"metadata":{"name":"m1"},"spec":{"taints":[{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"4","amd.com/gpu":"1"}}}]}`)
	})
	got, warnings, err := kube.Cluster(t.Context(), load(t, kubeconfig(t, s, "")))
	if err != nil {
		t.Fatal(err)
	}
	const gi = 1 << 30
	want := &data.Cluster{Nodes: []data.Node{
		{Name: "a1", GPUType: "a100-80gb", GPUs: 8, CPUs: 96, Memory: 1056 * gi, Drained: true},
		{Name: "c1", GPUType: "cpu", GPUs: 7, CPUs: 7.91, Memory: 32 * gi, Drained: true},
		{Name: "m1", GPUType: "gpu", GPUs: 1, CPUs: 4, Drained: true},
		{Name: "t1", GPUType: "t4", GPUs: 2, CPUs: 3.92, Memory: 16 * gi},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(warnings) != 3 || !strings.Contains(warnings[0], "7 of nvidia.com/mig-1g.5gb are left out") || !strings.Contains(warnings[1], "node c1: 4 of gpu.intel.com/i915 are left out") || !strings.Contains(warnings[2], "node m1: none of the labels") {
		t.Errorf("warnings %q", warnings)
	}
}
