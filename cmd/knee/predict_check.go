package main

import (
	"math"

	"github.com/spf13/cobra"
)

// check refuses numbers without a meaning. An explicit zero is refused too, as it
// would be taken for a flag that was not given.
func (f *predictFlags) check(cmd *cobra.Command) error {
	const most = 1e15 // beyond it times and costs overflow
	for _, n := range []struct {
		flag, want string
		value      float64
	}{
		{"local-batch", "samples per worker > 0", f.localBatch},
		{"initial-batch", "samples > 0", f.initial},
		{"max-batch", "samples > 0", f.maxBatch},
		{"steps", "steps > 0", f.steps},
		{"delta", "a share > 0", f.delta},
		{"budget", "US$ > 0", f.budget},
	} {
		if cmd.Flags().Changed(n.flag) && !(n.value > 0 && n.value <= most) {
			return usageError("--%s %g: want %s, at most %g", n.flag, n.value, n.want, most)
		}
	}
	if math.IsNaN(f.target) || math.IsInf(f.target, 0) {
		return usageError("--target-loss %g: want a finite number", f.target)
	}
	return nil
}
