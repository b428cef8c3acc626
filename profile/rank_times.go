package profile

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"knee/data"
	"knee/profile/launch"
	"knee/profile/meter"
)

// writeRanks writes the mean step time (s) of every rank, if there are several,
// beside a trial's log, for knee check to find the straggler.
func writeRanks(t launch.Trial, ranks []meter.RankTime) error {
	if len(ranks) < 2 || t.Log == "" {
		return nil
	}
	path := strings.TrimSuffix(t.Log, filepath.Ext(t.Log)) + ".ranks.csv"
	return data.WriteFile(path, func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, "worker,step_time_s"); err != nil {
			return err
		}
		for _, r := range ranks {
			if _, err := fmt.Fprintf(w, "%d,%g\n", r.Rank, r.Mean); err != nil {
				return err
			}
		}
		return nil
	})
}
