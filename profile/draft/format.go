package draft

import (
	"regexp"
	"slices"
	"strings"
)

// reports matches what a script that prints knee's lines has in it.
var reports = regexp.MustCompile(`knee_report|knee: *\{`)

// formats lists what a script has in it that prints its speed as a pattern
// reads it, the most particular first: a script that uses Lightning or the
// Trainer may import tqdm too.
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

// formatOf returns the pattern that reads what a script prints, by what is in
// it or else by the flags it takes; empty if neither tells.
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

// joins matches what a Python script that trains together with other processes
// has in it, in one way or another.
var joins = regexp.MustCompile(`(?i)distribut|rank|world_size|ddp|fsdp|accelerat|horovod|lightning|transformers|deepspeed|mpi4py|knee_(?:workers|role)|\bray\b`)

// toldByEnvironment matches a script that learns from the environment which of
// its processes it is, so that somebody else starts them.
var toldByEnvironment = regexp.MustCompile(`env://|(?i:environ|getenv)[^\n]*(?:RANK|WORLD_SIZE)`)
