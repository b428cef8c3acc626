package queue

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

// What fixed jobs of a tenant hold counts in a plan; of jobs that no tenant shows to be
// its own it is subtracted from a quota.
func TestTenants(t *testing.T) {
	snap := &Snapshot{Cluster: &data.Cluster{Nodes: []data.Node{{Name: "n1", GPUType: "a100", GPUs: 8}, {Name: "n2", GPUType: "t4", GPUs: 8}}},
		Limits: []Limit{{Tenant: "vision", Most: 6, Jobs: map[string]bool{"1": true, "2": true, "3": true}}}}
	on := func(id, gpu string, n int) Job {
		return Job{ID: id, Account: "vision", GPUType: gpu, Nodes: []data.NodeShare{{Node: "n", Workers: n}}}
	}
	rows := []Row{{Job: on("1", "a100", 2)}, {Job: on("2", "a100", 1), Model: "m"}, {Job: on("3", "t4", 1)}, {Job: Job{ID: "4", Account: "speech", GPUType: "a100", Nodes: []data.NodeShare{{Node: "n", Workers: 4}}}}}
	given := []data.Tenant{{Name: "research", Weight: 2, Quota: map[string]int{"a100": 5}}, {Name: "speech", Weight: 1, Parent: "research"}}
	want := []data.Tenant{{Name: "research", Weight: 2, Quota: map[string]int{"a100": 5}}, given[1], {Name: "vision", Weight: 1, Quota: map[string]int{"all": 6}}}
	if diff := cmp.Diff(want, tenants(rows, given, snap)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	snap.Limits[0].Tenant = "research"
	want = []data.Tenant{{Name: "research", Weight: 2, Quota: map[string]int{"a100": 5, "all": 3}}, given[1]}
	if diff := cmp.Diff(want, tenants(rows, given, snap)); diff != "" {
		t.Errorf("of an account whose parent is not given (-want +got):\n%s", diff)
	}
	if given[0].Quota["a100"] != 5 {
		t.Error("what was given is changed")
	}
	snap.Limits[0].Tenant = "vision"
	snap.Parents, snap.Limits[0].GPUType = map[string]string{"vision": "research", "speech": "research", "research": "root"}, "t4"
	want = []data.Tenant{{Name: "vision", Weight: 1, Quota: map[string]int{"t4": 6}, Parent: "research"}, {Name: "research", Weight: 1, Parent: "root"},
		{Name: "root", Weight: 1}, {Name: "speech", Weight: 1, Parent: "research"}}
	if diff := cmp.Diff(want, tenants(rows, nil, snap)); diff != "" {
		t.Errorf("of the scheduler alone (-want +got):\n%s", diff)
	}
}
