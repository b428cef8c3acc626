package data

import (
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Defaults of operate.yaml. A turn every five minutes and at most two changes
// in it keep what a mistake costs small; half an hour between two changes of a
// job keeps restarts, of minutes, a small part of its time.
const (
	defaultInterval     = 5 * time.Minute
	defaultMaxChanges   = 2
	defaultBetweenMoves = 30 * time.Minute
	verifyDeadline      = 5 * time.Minute
	defaultHorizon      = time.Hour
)

// ReadOperate reads operate.yaml from r. Paths stay as they are written,
// relative to the file.
func ReadOperate(r io.Reader, name string) (*Operate, error) {
	y := &yamlReader{file: name}
	root := y.root(r, "scheduler", "namespaces", "folder", "interval", "rules", "allow", "tenants", "max_changes", "between_moves", "deadline",
		"horizon", "maintenance", "pause_file", "profile", "metrics", "objective", "policy", "sizes", "risk", "hysteresis")
	c := &Operate{
		Scheduler:    root.choice("scheduler", "", "slurm", "kubernetes"),
		Namespaces:   root.texts("namespaces", "a list of namespaces, or [\"*\"] for all"),
		Folder:       root.text("folder"),
		Interval:     root.duration("interval", defaultInterval),
		MaxChanges:   root.whole("max_changes", defaultMaxChanges, 1),
		BetweenMoves: root.duration("between_moves", defaultBetweenMoves),
		Deadline:     root.duration("deadline", verifyDeadline),
		Horizon:      root.duration("horizon", defaultHorizon),
		PauseFile:    root.text("pause_file"),
		Profile:      root.flag("profile"),
		Metrics:      root.text("metrics"),
		Objective:    root.text("objective"),
		Policy:       root.text("policy"),
		Sizes:        root.text("sizes"),
		Risk:         root.number("risk", 0.5, NonNegative("a number from 0 to 1")),
		Hysteresis:   root.number("hysteresis", 0, Seconds()),
		Tenants:      readTenants(y, root),
		Source:       Source{File: name},
	}
	if c.Risk > 1 {
		root.fail("risk", fmt.Sprint(c.Risk), "a number from 0 to 1")
	}
	if y.err == nil && c.Scheduler == "" {
		root.fail("scheduler", "nothing", "slurm or kubernetes")
	}
	for i, n := range root.items("rules", "a list of rules") {
		c.Rules = append(c.Rules, readRule(y, n, fmt.Sprintf("rules[%d]", i)))
	}
	for i, n := range root.items("allow", "a list of what may be changed") {
		c.Allow = append(c.Allow, readMatch(y.object(n, fmt.Sprintf("allow[%d]", i), matchKeys()...)))
	}
	for i, n := range root.items("maintenance", "a list of times") {
		o := y.object(n, fmt.Sprintf("maintenance[%d]", i), "from", "to")
		w := Window{o.moment("from"), o.moment("to")}
		if y.err == nil && !w.From.Before(w.To) {
			o.fail("to", w.To.Format(time.RFC3339), "a point in time after from")
		}
		c.Maintenance = append(c.Maintenance, w)
	}
	if y.err != nil {
		return nil, y.err
	}
	return c, nil
}

// LoadOperate reads the file at path, as [ReadOperate] does.
func LoadOperate(path string) (*Operate, error) { return load(path, ReadOperate) }

func matchKeys() []string {
	return []string{"name", "namespace", "user", "account", "partition", "queue", "kind", "labels"}
}

// readMatch reads what a job must have.
func readMatch(o *object) Match {
	pattern := func(key string) string {
		p := o.text(key)
		if _, err := path.Match(p, ""); err != nil {
			o.fail(key, quote(p), "a pattern such as resnet-*, where * stands for any text without a slash")
		}
		return p
	}
	return Match{Name: pattern("name"), Namespace: pattern("namespace"), User: pattern("user"), Account: pattern("account"),
		Partition: pattern("partition"), Queue: pattern("queue"), Kind: pattern("kind"), Labels: o.textMap("labels", "the name of a label")}
}

func readRule(y *yamlReader, n *yaml.Node, path string) JobRule {
	o := y.object(n, path, "match", "model", "remaining", "workers", "gpu_types", "batch", "weight", "restart_seconds", "resources",
		"checkpoint", "log", "metrics")
	r := JobRule{
		Match:          readMatch(o.object("match", matchKeys()...)),
		Model:          o.text("model"),
		Remaining:      readRemaining(o),
		Workers:        readIntRange(o, "workers", 1),
		GPUTypes:       lower(o.texts("gpu_types", "a list of GPU types")),
		Batch:          readBatch(o),
		Weight:         o.number("weight", 1, Positive("a number")),
		RestartSeconds: o.number("restart_seconds", 0, Seconds()),
		RestartGiven:   o.get("restart_seconds") != nil,
		Checkpoint:     o.flag("checkpoint"),
		Log:            o.text("log"),
	}
	if o.get("metrics") != nil {
		r.Metrics = readMetrics(o)
	}
	res := o.object("resources", "worker", "ps")
	r.Resources = Resources{Worker: readNeed(res, "worker"), PS: readNeed(res, "ps")}
	if o.get("match") == nil {
		o.fail("match", "nothing", "what the job must have, such as {name: \"resnet-*\"}")
	}
	if slices.Contains(r.GPUTypes, "") {
		o.fail("gpu_types", "a type that is no name", "a list of GPU types such as [a100, t4]")
	}
	return r
}
