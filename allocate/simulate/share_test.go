package simulate

import (
	"fmt"
	"testing"

	"knee/allocate/policy"
)

// TestGangGetsItsShare: of two tenants one has a job for all four GPUs, the other always
// more jobs of one GPU than fit, which end at different times. The gang has half of the
// time, so that it ends after about twice its length.
func TestGangGetsItsShare(t *testing.T) {
	c := cluster(1, 4)
	gang := rigid(c, "gang", 100, 4, 20000)
	gang.Tenant = "a"
	jobs := []Job{gang}
	for i := range 200 {
		j := rigid(c, fmt.Sprint("single ", i), float64(450*i), 1, 1800)
		j.Tenant = "b"
		jobs = append(jobs, j)
	}
	for _, name := range []string{"gandiva-fair", "astraea"} {
		r, err := Run(jobs, Settings{Cluster: c, Policy: mustPolicy(t, name), Rules: Rules{Interval: policy.Round(name), RestartSeconds: 30}})
		if err != nil {
			t.Fatal(name, err)
		}
		if end := r.Jobs[0].End; end < 36000 || end > 44000 {
			t.Errorf("%s: the gang ends at %.0f s, want about 40000", name, end)
		}
	}
}
