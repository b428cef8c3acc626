package learn

import (
	"fmt"
	"strconv"
	"time"

	"knee/operate/check"
	"knee/operate/queue"
)

// Slowed is a kind of proposal beside those of package check: the job is at less than
// half of its best speed on the same nodes.
const Slowed = "slowed"

// Proposal is a problem that an operator should look at, and what to do about it.
type Proposal struct {
	Job  string `json:"job"` // id
	Name string `json:"name"`
	Kind string `json:"kind"` // check.Straggler, check.Silent or Slowed
	Node string `json:"node,omitempty"`
	Text string `json:"text"`
}

// Propose returns what is wrong with a running job, from its log, nil if nothing is. It
// updates Best of the job's reading. Call it once for each look at the queue. The rule
// for workers, less than half the median speed, and its remedy, to replace the worker,
// are those of Optimus (Peng et al., EuroSys 2018, section 5.2).
func Propose(row *queue.Row, now time.Time) *Proposal {
	r := row.Reading
	if r == nil || row.State != queue.Running {
		return nil
	}
	if p := straggler(row); p != nil {
		return p
	}
	p := &Proposal{Job: row.ID, Name: row.Name}
	gap := now.Sub(r.Told).Seconds()
	switch {
	case row.StepTime > 0 && r.Best > 0 && r.Best < check.Half*row.StepTime:
		p.Kind = Slowed
		p.Text = fmt.Sprintf("steps took %.3g s on its present nodes and now take %.3g s; look for other load there, and drain the slow node, so that the next turn moves the job",
			r.Best, row.StepTime)
	case r.Pace > 0 && gap > check.SilentSteps*r.Pace && r.Step > 0 && row.StepTime == 0:
		p.Kind = check.Silent
		p.Text = fmt.Sprintf("it has printed nothing for %s, after a line every %.3g s; check whether a worker hangs, and then requeue it",
			now.Sub(r.Told).Round(time.Second), r.Pace)
	default:
		if row.StepTime > 0 && (r.Best == 0 || row.StepTime < r.Best) {
			r.Best = row.StepTime
		}
		return nil
	}
	return p
}

// straggler returns a proposal for the first slow or silent worker, if the log
// has steps of single workers.
func straggler(row *queue.Row) *Proposal {
	if len(row.Steps) == 0 {
		return nil
	}
	for _, w := range check.Workers(row.Steps) {
		if w.Verdict == check.OK {
			continue
		}
		p := &Proposal{Job: row.ID, Name: row.Name, Kind: w.Verdict, Node: nodeOf(row, w.Name)}
		what := fmt.Sprintf("worker %s runs at %.0f %% of the median speed", w.Name, 100*w.Speed)
		if w.Verdict == check.Silent {
			what = fmt.Sprintf("worker %s is %.0f steps behind the others", w.Name, w.Behind)
		}
		p.Text = what + "; replace it: requeue the job elsewhere"
		if p.Node != "" {
			p.Text = fmt.Sprintf("%s; it is on node %s if ranks count up the nodes: drain that, so that the next turn moves the job", what, p.Node)
		}
		return p
	}
	return nil
}

// nodeOf is the node of a rank if ranks fill one node after the other, empty if
// there is no such rank.
func nodeOf(row *queue.Row, rank string) string {
	n, err := strconv.Atoi(rank)
	if err != nil || n < 0 {
		return ""
	}
	for _, s := range row.Nodes {
		if n < s.Workers {
			return s.Node
		}
		n -= s.Workers
	}
	return ""
}
