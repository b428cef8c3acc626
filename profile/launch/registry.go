package launch

import (
	"fmt"

	"knee/data"
)

// Settings holds what launchers need in addition to the study.
type Settings struct {
	Parser   Parser
	Watchdog *Watchdog // may be nil
	// Table resolves a path of the study, such as that of a replayed table;
	// nil leaves it as written.
	Table func(path string) string
}

// New returns the launcher of a study; local by default.
func New(spec data.LauncherSpec, s Settings) (Launcher, error) {
	switch {
	case spec.Replay != nil:
		path := spec.Replay.Table
		if s.Table != nil {
			path = s.Table(path)
		}
		ms, _, err := data.LoadMeasurements(path)
		if err != nil {
			return nil, fmt.Errorf("load the table to replay: %w", err)
		}
		return NewReplay(ms)
	case spec.Kubernetes != nil:
		k := *spec.Kubernetes
		if k.Kubeconfig != "" && s.Table != nil {
			k.Kubeconfig = s.Table(k.Kubeconfig) // beside the study, like every path in it
		}
		return NewKubernetes(k, s.Parser)
	case spec.Slurm != nil:
		return &Slurm{Spec: *spec.Slurm, Parser: s.Parser}, nil
	case spec.Local != nil:
		return &Local{Ranks: spec.Local.Ranks, Parser: s.Parser, Watchdog: s.Watchdog}, nil
	}
	return &Local{Parser: s.Parser, Watchdog: s.Watchdog}, nil
}
