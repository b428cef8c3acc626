package launch

import (
	"errors"
	"testing"
	"time"

	"knee/internal/slurm"
)

// A job that waits after it began was requeued, unless the report is older than
// its first output.
func TestSlurmQueueBehindTheOutput(t *testing.T) {
	j := &slurmJob{launcher: &Slurm{}, id: "1", release: func() {}}
	before := time.Now()
	j.begin()
	pending := slurmReport{job: slurm.Job{State: "PENDING"}, known: true, asked: before}
	if ended, err := j.see(pending); ended || err != nil {
		t.Errorf("asked before it began: %v, %v", ended, err)
	}
	pending.asked = j.began.Add(1)
	var failure *Failure
	if _, err := j.see(pending); !errors.As(err, &failure) || !failure.Preempted {
		t.Errorf("asked after it began: %v, want it requeued", err)
	}
}
