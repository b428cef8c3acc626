package launch

import (
	"context"
	"fmt"
	"io"

	"knee/data"
	"knee/internal/nvidia"
)

// watchGPUs samples the GPUs of this machine while a trial on GPUs runs. stop
// ends the sampling, writes the peak memory and utilisation of each GPU in use
// into the trial's log, and returns the memory of the fullest one, zero if none
// was used. Without nvidia-smi it does nothing.
func watchGPUs(ctx context.Context, c data.Config, log io.Writer) (stop func() gpuPeak) {
	nothing := func() gpuPeak { return gpuPeak{} }
	if cpuOnly(c.GPUType) {
		return nothing
	}
	end, err := nvidia.Watch(ctx)
	if err != nil {
		if !nvidia.Absent(err) {
			// The step times are valid without it.
			_, _ = fmt.Fprintf(log, "[knee] GPU memory and use are not sampled: %v\n", err)
		}
		return nothing
	}
	return func() gpuPeak {
		var fullest gpuPeak
		share := -1.0
		for _, p := range end() {
			if p.Busy <= 0 && p.Most == p.Used {
				continue // not used by this trial
			}
			text := fmt.Sprintf("GPU %d (%s): memory peak %s", p.Index, data.GPUTypeOf(p.Name), gibibytes(p.Most))
			if p.Memory > 0 {
				text += " of " + gibibytes(p.Memory)
			}
			busy := ""
			if p.Busy >= 0 {
				busy = fmt.Sprintf(", busy %.0f %% of the time", p.Busy)
			}
			_, _ = fmt.Fprintf(log, "[knee] %s%s\n", text, busy)
			if s := float64(p.Most) / float64(max(p.Memory, 1)); s > share {
				fullest, share = gpuPeak{text, float64(p.Most), float64(p.Memory)}, s
			}
		}
		return fullest
	}
}

type gpuPeak struct {
	text         string  // for the log
	most, memory float64 // bytes: peak in use, and total
}

func gibibytes(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
