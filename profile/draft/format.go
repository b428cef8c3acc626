package draft

import (
	"regexp"
	"slices"
	"strings"
)

// reports matches a script that prints knee's lines, written out or by a function
// that writes JSON: "knee: " + json.dumps(…).
var reports = regexp.MustCompile(`knee_report|knee: *[{"']`)

// format marks the scripts that print the lines of a log pattern; see
// programs.yaml.
type format struct{ Pattern, Text, Flag string }

// formatOf returns the log pattern of a script by its text, or flags, or none.
func formatOf(script []byte, command []string) string {
	for _, f := range programs().Formats {
		if f.Text != "" && regexp.MustCompile(f.Text).Match(script) ||
			f.Flag != "" && slices.ContainsFunc(command, func(a string) bool { return strings.HasPrefix(a, f.Flag) }) {
			return f.Pattern
		}
	}
	return ""
}

// joins matches a Python script that trains together with other processes.
var joins = regexp.MustCompile(`(?i)distribut|rank|world_size|ddp|fsdp|accelerat|horovod|lightning|transformers|deepspeed|mpi4py|knee_(?:workers|role)|\bray\b`)

// toldByEnvironment matches a script that reads its rank from the environment,
// and is therefore started once per rank.
var toldByEnvironment = regexp.MustCompile(`env://|(?i:environ|getenv)[^\n]*(?:RANK|WORLD_SIZE)`)
