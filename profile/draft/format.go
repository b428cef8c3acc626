package draft

import (
	"regexp"
	"slices"
	"strings"
)

// reports matches a script that prints knee's lines.
var reports = regexp.MustCompile(`knee_report|knee: *\{`)

// formats lists the log patterns with the text that marks scripts of each, most
// specific first: a script with Lightning may import tqdm too.
func formats() []struct {
	pattern string
	mark    *regexp.Regexp
} {
	return []struct {
		pattern string
		mark    *regexp.Regexp
	}{
		{"megatron", regexp.MustCompile(`(?m)^\s*(?:from|import) megatron\.training\b`)},
		{"nemo", regexp.MustCompile(`(?m)^\s*(?:from|import) nemo\b`)},
		{"lightning", regexp.MustCompile(`(?m)^\s*(?:from|import) (?:pytorch_)?lightning\b`)},
		{"huggingface", regexp.MustCompile(`(?s)\btransformers\b.*Trainer\(`)},
		{"deepspeed", regexp.MustCompile(`(?m)^\s*(?:from|import) deepspeed\b`)},
		{"tqdm", regexp.MustCompile(`(?m)^\s*(?:from|import) tqdm\b`)},
	}
}

// formatOf returns the log pattern of a script by its text, or flags, or none.
func formatOf(script []byte, command []string) string {
	for _, f := range formats() {
		if f.mark.Match(script) {
			return f.pattern
		}
	}
	for _, f := range []struct{ pattern, flag string }{
		{"torchtitan", "--parallelism."}, {"nemo", "model.tensor_model_parallel_size="}, {"nemo", "trainer.strategy."},
		{"megatron", "--tensor-model-parallel-size"}, {"deepspeed", "--deepspeed_config"},
	} {
		if slices.ContainsFunc(command, func(a string) bool { return strings.HasPrefix(a, f.flag) }) {
			return f.pattern
		}
	}
	return ""
}

// joins matches a Python script that trains together with other processes.
var joins = regexp.MustCompile(`(?i)distribut|rank|world_size|ddp|fsdp|accelerat|horovod|lightning|transformers|deepspeed|mpi4py|knee_(?:workers|role)|\bray\b`)

// toldByEnvironment matches a script that reads its rank from the environment,
// and is therefore started once per rank.
var toldByEnvironment = regexp.MustCompile(`env://|(?i:environ|getenv)[^\n]*(?:RANK|WORLD_SIZE)`)
