package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"knee/data"

	"pgregory.net/rapid"
)

func dump(b *strings.Builder, p *data.Plan, err error) {
	if err != nil {
		fmt.Fprintf(b, "err %v\n", err)
		return
	}
	text, _ := json.Marshal(p)
	s := strings.ReplaceAll(string(text), `"action":"wait"`, `"action":"pause"`)
	fmt.Fprintf(b, "%x %.17g\n%s\n", sha256.Sum256([]byte(s)), p.Value, s)
}

func TestZZDump(t *testing.T) {
	out := os.Getenv("DUMP")
	if out == "" {
		t.Skip()
	}
	var b strings.Builder
	type prob struct {
		pr Problem
		o  []oracle
	}
	busy := rapid.Custom(func(t *rapid.T) prob { pr, o := drawBusy(t); return prob{pr, o} })
	prs := rapid.Custom(func(t *rapid.T) prob { pr, o := drawProblem(t); return prob{pr, o} })
	for seed := range 1500 {
		x := busy.Example(seed)
		p, err := solveKnown(x.pr, x.o)
		dump(&b, p, err)
		y := prs.Example(seed)
		p, err = solveWith(y.pr, y.o, nil)
		dump(&b, p, err)
		if err == nil {
			adopt(&y.pr, p)
			p, err = solveWith(y.pr, y.o, nil)
			dump(&b, p, err)
		}
	}
	for seed := range 6 {
		for _, objective := range []string{"jct", "goodput", "fairness", "cost"} {
			pr, o := generate(80+30*seed, uint64(seed))
			pr.Objective = objective
			if seed%2 == 1 {
				var kept []data.Node
				for i := 0; i < len(pr.Cluster.Nodes); i += 6 {
					n := pr.Cluster.Nodes[i]
					n.GPUs -= i / 6 % 3
					kept = append(kept, n)
				}
				pr.Cluster.Nodes = kept
				for i := range pr.Jobs {
					pr.Jobs[i].Tenant = fmt.Sprint("tenant", i%10)
				}
				for i := range 10 {
					pr.Tenants = append(pr.Tenants, data.Tenant{Name: fmt.Sprint("tenant", i), Quota: map[string]int{"t4": len(pr.Jobs) / 4, "v100": len(pr.Jobs) / 4}})
				}
			}
			p, err := solveWith(pr, o, nil)
			dump(&b, p, err)
		}
	}
	os.WriteFile(out, []byte(b.String()), 0o644)
}
