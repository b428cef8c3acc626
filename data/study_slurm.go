package data

import (
	"regexp"
	"strings"
	"time"
)

// SlurmSpec submits each trial as a batch job of a Slurm cluster. The zero
// value requests the GPUs of the configuration and runs the command once, on
// the first node.
type SlurmSpec struct {
	Partition string        `yaml:"partition" is:"slurm"` // empty for the cluster's default
	Account   string        `yaml:"account" is:"slurm"`   // empty for the user's default
	Time      time.Duration `yaml:"time"`                 // limit of one trial; 0 for the partition's

	// GRES is the generic resource of workers: "gpu" if empty, "none" to request
	// none. A configuration of gpu_type a100 with four workers on a node requests
	// gpu:a100:4; cpu requests none.
	GRES string `yaml:"gres" is:"slurm"`
	// GPUTypes maps a gpu_type to the cluster's name if they differ, such as a100:
	// nvidia_a100_80gb_pcie. An empty name requests any type.
	GPUTypes map[string]string `yaml:"gpu_types" want:"a gpu_type of the study"`

	// Srun starts the command once per worker and parameter server through srun,
	// each with its rank in the environment; otherwise the batch script runs it
	// once.
	Srun bool `yaml:"srun"`
	// PerNode makes srun start it once per node, as torchrun needs.
	PerNode bool `yaml:"per_node"`

	Directives []string      `yaml:"directives" want:"a list of options of sbatch such as [--constraint=ib]"` // further ones
	Waiting    int           `yaml:"waiting" min:"1"`                                                         // jobs of the study that may wait in the queue at once; 0 means 1
	Poll       time.Duration `yaml:"poll"`                                                                    // between queries of the queue; 0 means 5 s
	MaxWait    time.Duration `yaml:"max_wait"`                                                                // longest wait of a job in the queue; 0 for no limit
}

// slurmWord matches names allowed in an #SBATCH line, where spaces and quotes
// have a meaning.
var slurmWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.,:+@/=-]*$`)

func (s *SlurmSpec) validate(o *object) {
	if strings.Contains(s.GRES, ":") {
		o.fail("gres", quote(s.GRES), "the name of a resource such as gpu, or none; type and count come from the configuration")
	}
	if s.PerNode && !s.Srun {
		o.fail("per_node", "it without srun", "srun: true too, which starts the tasks")
	}
	if o.get("time") != nil && s.Time < time.Minute {
		o.fail("time", FormatDuration(s.Time), "at least 1m, Slurm's unit of limits")
	}
	for gpu, name := range s.GPUTypes {
		if name != "" && !slurmWord.MatchString(name) {
			o.fail("gpu_types", quote(gpu+": "+name), wantSlurmWord)
		}
	}
	for _, d := range s.Directives {
		if want := directiveProblem(d); want != "" {
			o.fail("directives", quote(d), want)
		}
	}
}

const wantSlurmWord = "a name of letters, digits and _ . , : + @ / = -"

// directiveProblem returns what is wanted instead of a directive, empty if it
// is allowed. Options that the launcher sets are not.
func directiveProblem(d string) string {
	if !strings.HasPrefix(d, "-") || !singleLine(d) {
		return "an option such as --constraint=ib"
	}
	name, _, _ := strings.Cut(strings.FieldsFunc(d, func(r rune) bool { return r == '=' || r == ' ' })[0], "=")
	set := map[string]string{
		"--job-name": "", "-J": "", "--output": "", "-o": "", "--error": "", "-e": "", "--open-mode": "", "--requeue": "", "--no-requeue": "",
		"--nodes": "the study's placement or nodes", "-N": "the study's placement or nodes",
		"--ntasks": "the study's workers", "-n": "the study's workers", "--ntasks-per-node": "the study's placement",
		"--gres": "gres and gpu_types", "--partition": "partition", "-p": "partition", "--account": "account", "-A": "account",
		"--time": "time", "-t": "time", "--array": "", "-a": "", "--wrap": "", "--parsable": "", "--wait": "", "-W": "",
	}
	instead, taken := set[name]
	switch {
	case !taken:
		return ""
	case instead == "":
		return "an option other than " + name + ", which the launcher itself decides"
	}
	return instead + " in its place"
}
