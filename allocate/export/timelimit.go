package export

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"knee/data"
)

// slurmTime matches the times of sbatch: d-h:m:s, d-h:m, d-h; h:m:s; m:s, m.
var slurmTime = regexp.MustCompile(`^(?:(\d{1,4})-(\d{1,3})(?::(\d{1,3})(?::(\d{1,3}))?)?|(\d{1,4}):(\d{1,3}):(\d{1,3})|(\d{1,6})(?::(\d{1,3}))?)$`)

// slurmUnits are the units of its groups.
var slurmUnits = []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second, time.Hour, time.Minute, time.Second, time.Minute, time.Second}

// Limit is the time limit of the job in seconds, 0 for none. Times are those of
// Slurm, or durations such as 36h.
func (t task) Limit() (int, error) {
	s := t.Template.TimeLimit
	if s == "" {
		return 0, nil
	}
	var limit time.Duration
	if m := slurmTime.FindStringSubmatch(s); m != nil {
		for i, unit := range slurmUnits {
			n, _ := strconv.Atoi(m[i+1]) // digits, or nothing
			limit += time.Duration(n) * unit
		}
	} else if d, err := data.ParseDuration(s); err == nil {
		limit = d
	}
	if limit < time.Second {
		return 0, t.refuse("template.time_limit %q: want a time such as 36h, 2d12h, or one of Slurm: 90 (minutes), 12:00:00, 1-12:00:00", s)
	}
	return int(limit.Seconds()), nil
}

// clock writes seconds as sbatch reads them.
func clock(s int) string { return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60) }
