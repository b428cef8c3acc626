package profile

import (
	"encoding/csv"
	"fmt"
	"slices"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
	"knee/data"
)

// SearchTable loads the table that a study replays if it is a recorded search
// table (time_s, cost_usd, status); nil for a table of measurements or another
// launcher.
func SearchTable(s *data.Study) (*replay.Table, error) {
	if s.Launcher.Replay == nil {
		return nil, nil
	}
	path := s.Source.Beside(s.Launcher.Replay.Table)
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	header, err := csv.NewReader(f).Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !slices.Contains(header, "time_s") {
		return nil, nil // a table of measurements
	}
	return replay.LoadTable(path)
}

// SuggestRow is [Suggest] on a recorded search table: the candidates are its
// rows, and history is a file with its columns. Suggestion.Index is the row.
// The objective is cost_usd; time_s if the study minimises step_time; accuracy
// if it covers the space.
func SuggestRow(s *data.Study, t *replay.Table, how Search, history string, n int) ([]bayesopt.Suggestion, error) {
	g := replay.Goal{Time: s.Objective.Minimize == "step_time"}
	o := t.Options(g, s.Seed)
	o.KeepGoing, o.TargetRegret = false, how.TargetRegret
	o.Deadline = s.Objective.Deadline.Seconds() // a row's time is that of the whole job
	if s.Objective.Cover {
		o.Objective = bayesopt.Accuracy
	}
	chooser, err := baseline.NewStrategy(how.Strategy, o)
	if err != nil {
		return nil, err
	}
	h := bayesopt.History{Candidates: t.Candidates}
	if history != "" {
		if h.Measured, err = t.LoadHistory(history, g); err != nil {
			return nil, err
		}
	}
	return suggestFrom(chooser, h, n)
}
