package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What sacctmgr of Slurm 22.05 printed.
const (
	someAssociations = `Account|ParentName|User|Partition|GrpTRES|GrpJobs|MaxTRES|MaxJobs
root|||||||
root||root|||||
research|root|||gres/gpu=12|||
speech|research||||||
vision|research|||gres/gpu:a100=4,gres/gpu=6||gres/gpu=4|
vision||nobody||gres/gpu=2|2|gres/gpu=4|
vision||root||||gres/gpu=4|
`
	someQOS = `Name|GrpTRES|GrpJobs|MaxTRES|MaxTRESPU|MaxJobsPU|MaxTRESPA|MaxJobsPA
normal|||||||
night|gres/gpu=3||gres/gpu=1|gres/gpu=2|||
`
)

func TestParseAccounts(t *testing.T) {
	got, err := ParseAccounts(someAssociations, someQOS)
	if err != nil {
		t.Fatal(err)
	}
	want := &Accounts{
		Parent: map[string]string{"research": "root", "speech": "research", "vision": "research"},
		Limits: []Limit{
			{Account: "research", Most: 12},
			{Account: "vision", GPUType: "a100", Most: 4}, {Account: "vision", Most: 6},
			{Account: "vision", User: "nobody", Most: 2}, {Account: "vision", User: "nobody", Jobs: true, Most: 2}, {Account: "vision", User: "nobody", Each: "job", Most: 4},
			{Account: "vision", User: "root", Each: "job", Most: 4},
			{QOS: "night", Most: 3}, {QOS: "night", Each: "job", Most: 1}, {QOS: "night", Each: "user", Most: 2},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, say := range map[string]string{
		strings.Replace(someAssociations, "gpu=12", "gpu=many", 1): `account research, user "": found "gres/gpu=many"`,
		someAssociations[:200]: "want 8 fields",
		"":                     "found nothing",
	} {
		if _, err := ParseAccounts(text, someQOS); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %s", err, say)
		}
	}
}
