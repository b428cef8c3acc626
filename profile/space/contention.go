package space

import (
	"fmt"

	"knee/data"
)

// Contention returns a warning if trials on the processors of this machine
// start more processes at a time than it has cores, else an empty string. Such
// measurements do not hold for a machine with a core per process.
func Contention(s *data.Study, candidates []data.Config, cores int) string {
	l := s.Launcher
	if l.Replay != nil || l.Slurm != nil || l.Kubernetes != nil {
		return ""
	}
	crowded, most := 0, 0
	for _, c := range candidates {
		if c.GPUType != "cpu" && c.GPUType != "" {
			continue
		}
		if n := max(s.Parallel, 1) * (c.Workers + c.PS); n > cores {
			crowded++
			most = max(most, n)
		}
	}
	if crowded == 0 {
		return ""
	}
	return fmt.Sprintf("this machine has %d cores, and %d of %d configurations run more workers and servers at once, up to %d: "+
		"they are measured while sharing cores, so they would scale differently on more cores", cores, crowded, len(candidates), most)
}
