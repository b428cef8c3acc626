package launch

import (
	"context"
	"fmt"
	"io"

	"knee/data"
	"knee/internal/nvidia"
)

// watchGPUs samples the GPUs of this machine while a trial on GPUs runs. What
// it returns ends the sampling and writes what each GPU in use came to into
// the trial's log; it returns the memory of the fullest GPU, the zero value if
// nothing was seen. A machine without nvidia-smi has nothing to watch.
func watchGPUs(ctx context.Context, c data.Config, log io.Writer) (stop func() gpuPeak) {
	nothing := func() gpuPeak { return gpuPeak{} }
	if c.GPUType == "cpu" || c.GPUType == "" {
		return nothing
	}
	w, err := nvidia.Watch(ctx)
	if err != nil {
		if !nvidia.Absent(err) {
			// The measurement is worth having without.
			_, _ = fmt.Fprintf(log, "[knee] the GPUs are not watched: %v\n", err)
		}
		return nothing
	}
	return func() gpuPeak {
		var fullest gpuPeak
		share := -1.0
		for _, p := range w.Stop() {
			if p.Busy <= 0 && p.Most == p.Used {
				continue // not this trial's, as far as one can see
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

// gpuPeak is the memory of the GPU that was fullest.
type gpuPeak struct {
	text         string  // in words
	most, memory float64 // bytes held, and there
}

// gibibytes writes memory as people say it.
func gibibytes(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
