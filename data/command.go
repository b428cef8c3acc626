package data

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

// TemplateData is what templates of arguments may use, such as --batch={{.LocalBatch}}.
type TemplateData struct {
	Job              string
	GPUType          string
	Mode             string
	Placement        string // "4-4-2"; empty if not known
	Nodes            int
	Workers          int
	WorkersPerNode   int // on the node with the most
	PS               int
	LocalBatch       Number // samples per replica per micro-step
	GlobalBatch      Number // samples per step
	AccumSteps       int
	MicroSteps       int               // AccumSteps + 1, the gradient accumulation steps of most scripts
	TP, PP, CP, EP   int               // degrees of parallelism, at least 1
	DP               int               // replicas: Workers / (TP·PP·CP)
	Sharding         string            // none, zero1, zero2, zero3, hybrid
	ShardingStage    int               // of DeepSpeed's ZeRO: 0 to 3
	ShardingStrategy string            // in FSDP's words: NO_SHARD, SHARD_GRAD_OP, FULL_SHARD, HYBRID_SHARD
	Recompute        string            // none, selective, full
	Offload          string            // none, cpu, optimizer, activations
	X                map[string]string // further knobs of the study
}

// Number is a number that templates print without an exponent.
type Number float64

// String returns the shortest decimal form, never with an exponent.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'f', -1, 64) }

// RenderCommand renders a command for a configuration. An argument {{if …}} that renders
// to nothing is left out: {{if ne .Recompute "none"}}--recompute{{end}}. Errors are
// *InputError with at and the number of the argument.
func RenderCommand(command []string, c Config, at Source) ([]string, error) {
	args := make([]string, 0, len(command))
	for i, text := range command {
		at.Column = fmt.Sprintf("command[%d]", i)
		arg, err := renderArgument(text, c, at)
		if err != nil {
			return nil, err
		}
		if arg != "" || !strings.HasPrefix(text, "{{if ") {
			args = append(args, arg)
		}
	}
	return args, nil
}

func renderArgument(text string, c Config, at Source) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", &InputError{Source: at, Found: strconv.Quote(text), Want: "a template: " + cleanTemplateError(err)}
	}
	var b strings.Builder
	if err := t.Execute(&b, templateData(c)); err != nil {
		return "", &InputError{Source: at, Found: strconv.Quote(text),
			Want: "fields such as .Workers, .PS, .Nodes, .TP, .LocalBatch, .MicroSteps, .X.<name>: " + cleanTemplateError(err)}
	}
	return b.String(), nil
}

func templateData(c Config) TemplateData {
	return TemplateData{
		Job: c.Job, GPUType: c.GPUType, Mode: string(c.ModeOrDefault()), Placement: c.Placement.String(),
		Nodes: c.NodeCount(), Workers: c.Workers, WorkersPerNode: c.WidestNode(), PS: c.PS,
		LocalBatch: Number(c.LocalBatch), GlobalBatch: Number(c.GlobalBatch()), AccumSteps: c.AccumSteps, MicroSteps: c.AccumSteps + 1, X: c.Extra,
		TP: max(c.TP, 1), PP: max(c.PP, 1), CP: max(c.CP, 1), EP: max(c.EP, 1), DP: c.Replicas(),
		Sharding: c.Get("sharding"), Recompute: c.Get("recompute"), Offload: c.Get("offload"),
		ShardingStage: zeroStages[c.Sharding], ShardingStrategy: cmp.Or(fsdpStrategies[c.Sharding], "NO_SHARD"),
	}
}

// zeroStages and fsdpStrategies are the equivalents of a sharding; hybrid is full sharding within
// a node. FSDP cannot shard the optimizer's state alone: SHARD_GRAD_OP for zero1.
var (
	zeroStages     = map[string]int{"zero1": 1, "zero2": 2, "zero3": 3, "hybrid": 3}
	fsdpStrategies = map[string]string{"zero1": "SHARD_GRAD_OP", "zero2": "SHARD_GRAD_OP", "zero3": "FULL_SHARD",
		"hybrid": "HYBRID_SHARD"}
)

// cleanTemplateError drops the prefix "template: :1:2:".
func cleanTemplateError(err error) string {
	parts := strings.SplitN(err.Error(), ": ", 3)
	return parts[len(parts)-1]
}
