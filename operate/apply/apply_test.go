package apply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/data"
	"knee/operate/apply"
	"knee/operate/queue"
	"knee/operate/queuetest"
)

func on(node string, workers int) data.NodeShare { return data.NodeShare{Node: node, Workers: workers} }

// entry is a line of a plan made while the job ran on was.
func entry(id string, action data.Action, was []data.NodeShare, to ...data.NodeShare) data.PlannedJob {
	return data.PlannedJob{Name: "job-" + id, ID: id, Action: action, Was: was, Placement: to, Workers: queue.Workers(to)}
}

func planOf(jobs ...data.PlannedJob) *data.Plan { return &data.Plan{Jobs: jobs} }

func runner(f *queuetest.Fake) *apply.Runner {
	return &apply.Runner{Scheduler: f, Deadline: 10 * time.Second, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// run applies a plan and returns the outcome of each job, as "id status".
func run(t *testing.T, r *apply.Runner, p *data.Plan) []string {
	t.Helper()
	changes, err := r.Run(t.Context(), p, false)
	if err != nil {
		t.Fatal(err)
	}
	return statuses(changes)
}

func statuses(changes []*apply.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.ID+" "+string(c.Status))
	}
	return out
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// two jobs change places by way of a third that is paused.
func exchange() (*queuetest.Fake, *data.Plan) {
	f := queuetest.New("n1", "n2")
	f.Add("1", 4, on("n1", 4))
	f.Add("2", 2, on("n2", 2))
	f.Add("3", 2, on("n2", 2))
	f.Add("4", 1)
	return f, planOf(
		entry("1", data.Move, []data.NodeShare{on("n1", 4)}, on("n2", 4)),
		entry("2", data.Grow, []data.NodeShare{on("n2", 2)}, on("n1", 3)),
		entry("3", data.Pause, []data.NodeShare{on("n2", 2)}),
		entry("4", data.Start, nil, on("n1", 1)),
	)
}

func TestApplyTwice(t *testing.T) {
	f, p := exchange()
	expect(t, "first", run(t, runner(f), p), "1 done", "2 done", "3 done", "4 done")
	calls := len(f.Calls)
	if calls != 7 { // 4 held, 3 started
		t.Errorf("%d calls: %q", calls, f.Calls)
	}
	expect(t, "second", run(t, runner(f), p), "1 already", "2 already", "3 already", "4 already")
	if len(f.Calls) != calls {
		t.Errorf("the second run asked for %q", f.Calls[calls:])
	}
}

// Changes beyond a limit that the plan ignores are refused.
func TestLimits(t *testing.T) {
	for most, want := range map[int]string{5: "2 refused", 6: "2 done"} {
		f := queuetest.New("n1", "n2")
		f.Add("1", 2, on("n1", 2))
		f.Add("2", 2).Held = true
		f.Get("2").HeldByUs = true
		f.Limits = []queue.Limit{{Name: "QOS night", Most: most, Jobs: map[string]bool{"1": true, "2": true}}, {Most: 2, GPUType: "t4", Jobs: map[string]bool{"1": true}}}
		p := planOf(entry("1", data.Grow, []data.NodeShare{on("n1", 2)}, on("n2", 4)), entry("2", data.Start, nil, on("n1", 2)))
		expect(t, fmt.Sprint(most), run(t, runner(f), p), "1 done", want)
	}
}

// A running job does not make room for one that is refused.
func TestNoRoomForWhatIsRefused(t *testing.T) {
	for action, to := range map[data.Action][]data.NodeShare{data.Shrink: {on("n1", 2)}, data.Move: {on("n2", 4)}, data.Pause: nil} {
		f := queuetest.New("n1", "n2")
		f.Add("1", 4, on("n1", 4))
		f.Add("2", 2).Held = true
		f.Get("2").HeldByUs = true
		f.Limits = []queue.Limit{{Name: "QOS night", Most: 1, Jobs: map[string]bool{"2": true}}}
		p := planOf(entry("1", action, []data.NodeShare{on("n1", 4)}, to...), entry("2", data.Start, nil, on("n1", 2)))
		expect(t, string(action), run(t, runner(f), p), "1 postponed", "2 refused")
		if len(f.Calls) > 0 {
			t.Errorf("%s: asked for %q", action, f.Calls)
		}
	}
}

// A job that shrinks for a limit of its account does so, whatever else is refused.
func TestRoomWithinALimit(t *testing.T) {
	f := queuetest.New("n1", "n2")
	f.Add("1", 4, on("n1", 4))
	for _, id := range []string{"2", "3"} {
		f.Add(id, 2).Held = true
		f.Get(id).HeldByUs = true
	}
	f.Limits = []queue.Limit{{Name: "QOS night", Most: 1, Jobs: map[string]bool{"2": true}}, {Name: "account", Most: 4, Jobs: map[string]bool{"1": true, "3": true}}}
	p := planOf(entry("1", data.Shrink, []data.NodeShare{on("n1", 4)}, on("n1", 2)), entry("3", data.Start, nil, on("n2", 2)), entry("2", data.Start, nil, on("n1", 2)))
	expect(t, "within the account", run(t, runner(f), p), "1 done", "3 done", "2 refused")
}

// A job that another scheduler starts is resized while it waits, and never held.
func TestInPlace(t *testing.T) {
	for deaf, want := range map[string]string{"": "1 done", "1": "1 rolled back"} {
		f := queuetest.New("n1")
		f.Add("1", 1).InPlace = true
		f.Cluster.Nodes[0].Drained = true
		f.Deaf = []string{deaf}
		p := planOf(entry("1", data.Start, nil, on("n1", 4)))
		expect(t, "waits", run(t, runner(f), p), want)
		if one := f.Get("1"); one.Workers != 4 && deaf == "" || one.Held || slices.ContainsFunc(f.Calls, func(c string) bool { return strings.HasPrefix(c, "hold") }) {
			t.Errorf("%+v, asked for %q", one, f.Calls)
		}
		if deaf == "" {
			expect(t, "again", run(t, runner(f), p), "1 already")
		}
		expect(t, "nothing for it", run(t, runner(f), planOf(entry("1", data.Pause, nil))))
	}
}

// A job that is to wait is held, so that its scheduler does not start it.
func TestWaitingJobIsHeld(t *testing.T) {
	f := queuetest.New("n1")
	f.Add("1", 1)
	f.Cluster.Nodes[0].Drained = true
	p := planOf(entry("1", data.Wait, nil))
	expect(t, "waits", run(t, runner(f), p), "1 done")
	if !f.Get("1").HeldByUs {
		t.Errorf("%+v is not held", f.Get("1"))
	}
	expect(t, "again", run(t, runner(f), p), "1 already")
}

// A job that could not be planned is its scheduler's, unless knee holds it.
func TestUnplannedJobIsNotHeld(t *testing.T) {
	f := queuetest.New("n1")
	f.Add("1", 8)
	wait := entry("1", data.Wait, nil)
	wait.Reason, wait.Unplanned = "its model cannot be used", true
	expect(t, "not held", run(t, runner(f), planOf(wait)))
	f.Get("1").Held, f.Get("1").HeldByUs = true, true
	expect(t, "held", run(t, runner(f), planOf(wait)), "1 already")
}

func TestDryRunChangesNothing(t *testing.T) {
	f, p := exchange()
	changes, err := runner(f).Run(t.Context(), p, true)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "dry", statuses(changes), "1 planned", "2 planned", "3 planned", "4 planned")
	if len(f.Calls) != 0 {
		t.Errorf("asked for %q", f.Calls)
	}
}

func TestStalePlansChangeNothing(t *testing.T) {
	f, p := exchange()
	f.Get("1").Nodes = []data.NodeShare{on("n1", 2)} // somebody shrank it
	f.Jobs = slices.DeleteFunc(f.Jobs, func(j *queuetest.Job) bool { return j.ID == "3" })
	f.Get("4").Held = true // its owner holds it
	f.Add("5", 4)          // not in the plan
	f.Get("5").Held = true
	// Job 2 needs three GPUs of n1, of which job 1 keeps two.
	expect(t, "stale", run(t, runner(f), p), "1 stale", "2 refused", "3 ended", "4 refused")
	if len(f.Calls) != 0 {
		t.Errorf("asked for %q", f.Calls)
	}
}

func TestTargetsAreFreeBeforeAnythingStops(t *testing.T) {
	f := queuetest.New("n1", "n2", "n3")
	f.Add("1", 2, on("n1", 2))
	f.Add("2", 3, on("n2", 3)) // foreign
	f.Cluster.Nodes[2].Drained = true
	was := []data.NodeShare{on("n1", 2)}
	expect(t, "occupied", run(t, runner(f), planOf(entry("1", data.Move, was, on("n2", 2)))), "1 refused")
	expect(t, "drained", run(t, runner(f), planOf(entry("1", data.Move, was, on("n3", 2)))), "1 refused")
	expect(t, "not there", run(t, runner(f), planOf(entry("1", data.Move, was, on("n9", 2)))), "1 refused")
	if len(f.Calls) != 0 {
		t.Errorf("asked for %q", f.Calls)
	}
}

func TestGuardRails(t *testing.T) {
	f, p := exchange()
	r := runner(f)
	r.Allowed = func(j queue.Job) string {
		if j.ID == "3" {
			return "not on the allow-list"
		}
		return ""
	}
	// Job 3 stays on n2, so that job 1 cannot come, nor job 2 in its place.
	expect(t, "allow-list", run(t, r, p), "1 refused", "2 refused", "3 refused", "4 refused")
	f, p = exchange()
	r = runner(f)
	r.MaxChanges = 1
	// Only job 3 can go without another going before it.
	expect(t, "one change", run(t, r, p), "1 postponed", "2 postponed", "3 done", "4 postponed")
	f, p = exchange()
	f.Get("2").Requeue = false
	if got := run(t, runner(f), p); got[1] != "2 refused" {
		t.Errorf("a job without requeue: %q", got)
	}
}

func TestFailuresRollBack(t *testing.T) {
	was := []data.NodeShare{on("n1", 2)}
	p := planOf(entry("1", data.Move, was, on("n2", 2)))
	setup := func() *queuetest.Fake {
		f := queuetest.New("n1", "n2")
		f.Add("1", 2, on("n1", 2))
		return f
	}
	isBack := func(what string, f *queuetest.Fake) {
		t.Helper()
		if j := f.Get("1"); !data.SameNodes(j.Nodes, was) || j.Held {
			t.Errorf("%s: the job stands on %v, held %t", what, j.Nodes, j.Held)
		}
	}
	f := setup()
	refused := 0
	f.Fault = func(at string) error {
		if at == "before start" && refused == 0 {
			refused++
			return errors.New("invalid node name")
		}
		return nil
	}
	expect(t, "refused start", run(t, runner(f), p), "1 rolled back")
	isBack("refused start", f)

	f = setup() // a node is lost in between
	f.Fault = func(at string) error {
		if at == "after hold" {
			f.Cluster.Nodes[1].Drained = true
		}
		return nil
	}
	expect(t, "lost node", run(t, runner(f), p), "1 rolled back")
	isBack("lost node", f)

	f = setup() // somebody else is quicker
	f.Fault = func(at string) error {
		if at == "after start" && f.Get("9") == nil {
			f.Add("9", 3, on("n2", 3))
		}
		return nil
	}
	expect(t, "taken place", run(t, runner(f), p), "1 rolled back")
	isBack("taken place", f)

	f = setup() // somebody else is quicker, and half of it has started
	f.Piecemeal = true
	f.Fault = func(at string) error {
		if at == "after start" && f.Get("9") == nil {
			f.Add("9", 3, on("n2", 3))
		}
		return nil
	}
	expect(t, "half started", run(t, runner(f), planOf(entry("1", data.Grow, was, on("n1", 2), on("n2", 2)))), "1 rolled back")
	isBack("half started", f)

	f = setup() // it is cancelled by hand
	f.Fault = func(at string) error {
		if at == "after hold" {
			f.Jobs = nil
		}
		return nil
	}
	expect(t, "cancelled", run(t, runner(f), p), "1 ended")

	for how, want := range map[string]string{"FAILED, exit code 1": "1 failed", "": "1 ended"} {
		f = setup() // it ends at once
		f.Failed = how
		f.Fault = func(at string) error {
			if at == "after start" {
				f.Jobs = nil
			}
			return nil
		}
		expect(t, "ended: "+how, run(t, runner(f), p), want)
	}

	f = setup() // it does not stop
	f.Deaf = []string{"1"}
	expect(t, "deaf", run(t, runner(f), p), "1 failed")
	f.Deaf = nil
	f.Step()
	expect(t, "deaf, later", run(t, runner(f), p), "1 done")
}

func TestHalfAndLateAnswers(t *testing.T) {
	f, p := exchange()
	n := 0
	f.Fault = func(at string) error {
		if n++; at == "read" && n > 1 && n%2 == 0 {
			return errors.New("unexpected end of JSON input")
		}
		return nil
	}
	r := runner(f)
	r.Deadline = 22 * time.Second
	expect(t, "every other answer is none", run(t, r, p), "1 done", "2 done", "3 done", "4 done")
	f.Fault = func(string) error { return errors.New("no answer") }
	if changes, err := r.Run(t.Context(), p, false); err == nil || len(changes) > 0 {
		t.Errorf("a silent queue: %v, %v", changes, err)
	}
}

// For any plan and any moment at which knee is killed: no job is lost or doubled,
// no node has more workers than GPUs, jobs outside the plan are not changed, and
// after a run to the end every job of the last plan has its place.
func TestCrashesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := queuetest.New("n1", "n2", "n3")
		f.Leave = rapid.IntRange(0, 3).Draw(t, "leave")
		f.Add("foreign", 2, on("n3", 2))
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			id := fmt.Sprint(i)
			node, k := rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "node"), rapid.IntRange(1, 3).Draw(t, "workers")
			if f.Free(node) >= k && rapid.Bool().Draw(t, "runs") {
				f.Add(id, k, on(node, k))
			} else {
				f.Add(id, k)
			}
		}
		ids := len(f.Jobs)
		f.Step()
		for range rapid.IntRange(1, 4).Draw(t, "plans") {
			p := drawPlan(t, f)
			for range rapid.IntRange(0, 3).Draw(t, "crashes") {
				after := rapid.IntRange(0, 25).Draw(t, "after")
				f.Fault = func(at string) error {
					if after--; after < 0 {
						return queuetest.Crashed{At: at}
					}
					return nil
				}
				crash(t, f, p)
				check(t, f, ids)
			}
			f.Fault = nil
			changes, err := runner(f).Run(context.Background(), p, false)
			if err != nil {
				t.Fatal(err)
			}
			check(t, f, ids)
			calls := len(f.Calls)
			again, _ := runner(f).Run(context.Background(), p, false)
			for i, c := range changes {
				if c.Status == apply.Failed && !strings.HasPrefix(c.Reason, "hold: ") || c.Status == apply.RolledBack {
					t.Fatalf("job %s: %s: %s", c.ID, c.Status, c.Reason)
				}
				if c.Status == apply.Done && again[i].Status != apply.Already {
					t.Fatalf("job %s was %s, and then %s: %s", c.ID, c.Status, again[i].Status, again[i].Reason)
				}
			}
			if len(f.Calls) != calls && !slices.ContainsFunc(changes, func(c *apply.Change) bool { return c.Status != apply.Done && c.Status != apply.Already }) {
				t.Fatalf("a plan that was carried out asked for %q", f.Calls[calls:])
			}
		}
	})
}

// crash runs a plan until knee is killed, or to its end.
func crash(t *rapid.T, f *queuetest.Fake, p *data.Plan) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case queuetest.Crashed:
			t.Log("killed after", strings.Join(f.Calls, ", "))
		default:
			panic(why)
		}
	}()
	_, _ = runner(f).Run(context.Background(), p, false)
}

// check checks the invariants of the queue.
func check(t *rapid.T, f *queuetest.Fake, ids int) {
	seen := map[string]bool{}
	for _, j := range f.Jobs {
		if seen[j.ID] {
			t.Fatalf("job %s is there twice", j.ID)
		}
		seen[j.ID] = true
	}
	if len(seen) != ids {
		t.Fatalf("%d jobs, want %d", len(seen), ids)
	}
	for _, n := range f.Cluster.Nodes {
		if f.Free(n.Name) < 0 {
			t.Fatalf("node %s holds more than it has", n.Name)
		}
	}
	if !data.SameNodes(f.Get("foreign").Nodes, []data.NodeShare{on("n3", 2)}) || slices.ContainsFunc(f.Calls, func(c string) bool { return strings.Contains(c, "foreign") }) {
		t.Fatalf("the job of someone else was touched: %q", f.Calls)
	}
}

// drawPlan draws a plan for the jobs as they are.
func drawPlan(t *rapid.T, f *queuetest.Fake) *data.Plan {
	left := map[string]int{"n1": 4, "n2": 4, "n3": 2}
	p := &data.Plan{}
	for _, j := range f.Jobs {
		if j.ID == "foreign" {
			continue
		}
		node, k := rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(t, "to"), rapid.IntRange(0, 3).Draw(t, "size")
		if k == 0 || left[node] < k {
			p.Jobs = append(p.Jobs, entry(j.ID, data.Pause, slices.Clone(j.Nodes)))
			continue
		}
		left[node] -= k
		p.Jobs = append(p.Jobs, entry(j.ID, data.Move, slices.Clone(j.Nodes), on(node, k)))
	}
	return p
}
