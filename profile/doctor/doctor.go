// Package doctor checks what knee can use on a machine. A missing part is not an error: each
// check says what needs it, and what to install or set. A check is one function and one line
// in the registry.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Status is the result of a check.
type Status string

const (
	Here    Status = "ok"
	Missing Status = "missing" // not installed, perhaps on purpose
	Broken  Status = "broken"  // installed, but does not work
)

// Finding is the outcome of one check.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`            // description, such as a version
	For    string `json:"for"`              // what knee uses it for
	Advice string `json:"advice,omitempty"` // what to do about it, unless ok
}

// Machine is what checks use of a machine, by default this one.
type Machine struct {
	// Run returns standard output; an error ends with the last complaint. Nil: this machine.
	Run func(ctx context.Context, name string, args ...string) (string, error)
	Dir string // the folder that measurements go to; empty for the current one
}

type check struct {
	name, purpose string
	look          func(context.Context, Machine) Finding
}

// checks is the registry: one line for each check, in the order shown.
func checks() []check {
	return []check{
		{"processors", "trials on this machine", processors},
		{"memory", "trials on this machine", memory},
		{"folder", "the journal of a study", folder},
		{"gpu", "gpu_type, GPU memory and use during trials", gpu},
		{"pytorch", "examples/pytorch and training scripts like it", pytorch},
		{"slurm", "launcher: {slurm: …}, knee cluster --from slurm", slurm},
		{"kubernetes", "launcher: {kubernetes: …}, knee cluster --from kubernetes", kubernetes},
	}
}

// answerTimeout is how long one program may take to answer.
const answerTimeout = 20 * time.Second

// Examine runs every check, one after the other.
func Examine(ctx context.Context, m Machine) []Finding {
	if m.Run == nil {
		m.Run = run
	}
	m.Dir = cmp.Or(m.Dir, ".")
	var out []Finding
	for _, c := range checks() {
		limited, cancel := context.WithTimeout(ctx, answerTimeout)
		f := c.look(limited, m)
		cancel()
		f.Check, f.For = c.name, c.purpose
		out = append(out, f)
	}
	return out
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() > 0 {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(lines[len(lines)-1])) // where programs print the reason
	}
	return strings.TrimSpace(string(out)), err
}

func absent(program, advice string) Finding {
	return Finding{Status: Missing, Found: "no " + program + " on the PATH", Advice: advice}
}
