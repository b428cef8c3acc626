package plan_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"

	"pgregory.net/rapid"
)

func TestZZDumpPolicies(t *testing.T) {
	out := os.Getenv("DUMP2")
	if out == "" {
		t.Skip()
	}
	var b strings.Builder
	g := rapid.Custom(func(t *rapid.T) plan.Drawn {
		d := plan.Draw(t)
		d.Now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		for i := range d.Jobs {
			account(t, &d.Jobs[i], d.Now)
		}
		return d
	})
	for seed := range 150 {
		for _, name := range policy.Names() {
			p, err := policy.New(name)
			if err != nil {
				t.Fatal(err)
			}
			d := g.Example(seed)
			d.Jobs = append([]data.Job(nil), d.Jobs...)
			made, err := d.Solve(p)
			if err != nil {
				fmt.Fprintf(&b, "%s err %v\n", name, err)
				continue
			}
			text, _ := json.Marshal(made)
			s := strings.ReplaceAll(string(text), `"action":"wait"`, `"action":"pause"`)
			fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256([]byte(s)))
		}
	}
	os.WriteFile(out, []byte(b.String()), 0o644)
}
