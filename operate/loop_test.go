package operate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/internal/filelock"
	"knee/operate"
	"knee/operate/apply"
	"knee/operate/queue"
	"knee/operate/queuetest"
)

// setup is a loop on a scheduler in memory. Its plan gives job 1 the node that
// is named in want, and keeps every other where it stands.
type setup struct {
	*operate.Loop
	fake *queuetest.Fake
	want data.NodeShare
	now  time.Time
}

func newSetup(t testing.TB, dir string) *setup {
	b := &setup{fake: queuetest.New("n1", "n2", "n3"), want: data.NodeShare{Node: "n2", Workers: 2}, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	b.fake.Add("1", 2, data.NodeShare{Node: "n1", Workers: 2})
	b.fake.Add("2", 2, data.NodeShare{Node: "n3", Workers: 2}).User = "bob"
	c, err := data.ReadOperate(strings.NewReader(`scheduler: slurm
allow: [{user: ann}]
pause_file: PAUSE
maintenance: [{from: 2026-05-02T00:00:00Z, to: 2026-05-02T06:00:00Z}]
deadline: 20s
rules: [{match: {name: "job-*"}, model: toy.json, remaining: {steps: 1000}, checkpoint: true}]
`), filepath.Join(dir, "operate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(operate.Folder(c), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Loop = &operate.Loop{Config: c, Scheduler: b.fake, Confirm: true, Now: func() time.Time { return b.now }, Plan: b.plan,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Metrics: operate.NewMetrics()}
	b.open(t)
	return b
}

// open opens the audit log as a new process does.
func (b *setup) open(t testing.TB) {
	a, err := operate.OpenAudit(operate.Folder(b.Config), b.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	b.Audit = a
}

func (b *setup) plan(_ context.Context, _, jobs string) (*data.Plan, error) {
	f, err := data.Load(jobs, data.ReadJobs)
	if err != nil {
		return nil, err
	}
	p := &data.Plan{}
	for _, j := range f.Jobs {
		e := data.PlannedJob{Name: j.Name, ID: j.ID, Action: data.Keep, GPUType: "a100", Mode: data.AllReduce}
		if j.Current != nil {
			e.Was = []data.NodeShare{{Node: j.Current.Nodes[0], Workers: j.Current.Placement[0]}}
			e.Placement = e.Was
		}
		if j.ID == "1" && j.Model != "" {
			e.Action, e.Placement = data.Move, []data.NodeShare{b.want}
		}
		e.Workers = queue.Workers(e.Placement)
		p.Jobs = append(p.Jobs, e)
	}
	return p, nil
}

// turn makes a turn and returns what became of its changes.
func (b *setup) turn(t testing.TB) (*operate.Outcome, []apply.Status) {
	t.Helper()
	out, err := b.Turn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []apply.Status
	for _, c := range out.Changes {
		got = append(got, c.Status)
	}
	return out, got
}

func expect(t *testing.T, what string, got []apply.Status, want ...apply.Status) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A plan that is applied by hand keeps away from a loop, and tells it what it changed.
func TestGuard(t *testing.T) {
	b := newSetup(t, t.TempDir())
	r := &apply.Runner{Scheduler: b.fake, Deadline: time.Minute, Sleep: b.Sleep}
	held, err := operate.Guard(r, b.Config, b.now, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context(), true, func(*operate.Outcome) {}); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("a loop beside it: %v", err)
	}
	was := []data.NodeShare{{Node: "n1", Workers: 2}}
	p := &data.Plan{Jobs: []data.PlannedJob{{ID: "1", Action: data.Move, Was: was, Placement: []data.NodeShare{{Node: "n3", Workers: 2}}, Workers: 2}}}
	if changes, err := r.Run(t.Context(), p, false); err != nil || changes[0].Status != apply.Done {
		t.Fatalf("%+v, %v", changes, err)
	}
	held.Close()
	if out, _ := b.turn(t); out.Planned != 0 {
		t.Errorf("the loop plans a job that was changed just before: %+v", out)
	}
}

// A job that does not start where the plan wants it is left to its scheduler for a while:
// no GPUs are kept for it.
func TestJobThatDoesNotStart(t *testing.T) {
	b := newSetup(t, t.TempDir())
	j := b.fake.Get("1")
	j.State, j.Nodes, j.Held, j.HeldByUs = queue.Pending, nil, true, true
	b.fake.Fault = func(at string) error {
		if at == "after start" {
			j.Want = []data.NodeShare{{Node: "n1", Workers: 9}} // more than there are
		}
		return nil
	}
	_, got := b.turn(t)
	expect(t, "first turn", got, apply.RolledBack)
	if out, _ := b.turn(t); out.Planned != 0 {
		t.Errorf("it is planned again at once: %+v", out)
	}
	b.now = b.now.Add(b.Config.BetweenMoves)
	if out, _ := b.turn(t); out.Planned != 1 {
		t.Errorf("it is not planned later: %+v", out)
	}
}

// A disk that was full once does not end all later turns.
func TestAuditLogOnAFullDisk(t *testing.T) {
	b := newSetup(t, t.TempDir())
	log := filepath.Join(operate.Folder(b.Config), "audit.jsonl")
	if err := errors.Join(os.Remove(log), os.Symlink("/dev/full", log)); err != nil {
		t.Skip(err)
	}
	b.open(t)
	if err := b.Audit.Command(queue.Command{Job: "1"}); err == nil {
		t.Skip("there is no /dev/full here")
	}
	_, got := b.turn(t)
	expect(t, "the next turn", got, apply.Done)
}

func TestTurn(t *testing.T) {
	b := newSetup(t, t.TempDir())
	b.fake.Logs["1"] = "knee: {\"step\":399,\"step_time_s\":0.5}\nknee: {\"step\":400,\"step_time_s\":0.5}\n"
	b.Confirm = false
	out, got := b.turn(t)
	expect(t, "dry run", got, apply.Planned)
	if len(b.fake.Calls) > 0 {
		t.Errorf("a dry run asked for %q", b.fake.Calls)
	}
	jobs, err := data.Load(filepath.Join(out.Folder, "jobs.yaml"), data.ReadJobs)
	if err != nil {
		t.Fatal(err)
	}
	if one := jobs.Jobs[0]; one.ID != "1" || one.Remaining.Steps != 600 || one.Model == "" {
		t.Errorf("job 1 in jobs.yaml: %+v", one)
	}
	b.fake.Logs["1"] = "starting\n" // again
	if out, _ = b.turn(t); out.Planned != 1 {
		t.Errorf("%d jobs to plan", out.Planned)
	}
	if again, err := data.Load(filepath.Join(out.Folder, "jobs.yaml"), data.ReadJobs); err != nil || again.Jobs[0].Remaining.Steps != 600 {
		t.Errorf("a job whose log is empty again: %v, %+v", err, again.Jobs[0].Remaining)
	}
	if two := jobs.Jobs[1]; two.Model != "" || two.Current == nil {
		t.Errorf("the job of someone else is no fixed occupant: %+v", two)
	}
	b.Confirm = true
	out, got = b.turn(t)
	expect(t, "confirmed", got, apply.Done)
	if text, err := os.ReadFile(filepath.Join(out.Folder, "outcome.json")); err != nil || !json.Valid(text) || !bytes.Contains(text, []byte(`"done"`)) {
		t.Errorf("outcome.json: %v: %s", err, text)
	}
	b.want.Node = "n1"
	_, got = b.turn(t)
	if len(got) != 0 || b.fake.Get("1").Nodes[0].Node != "n2" {
		t.Errorf("a job that has just been moved: %q", got)
	}
	b.now = b.now.Add(31 * time.Minute)
	_, got = b.turn(t)
	expect(t, "half an hour later", got, apply.Done)
}

func TestNothingChangesWhileClosed(t *testing.T) {
	dir := t.TempDir()
	b := newSetup(t, dir)
	pause := filepath.Join(dir, "PAUSE")
	if err := os.WriteFile(pause, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out, got := b.turn(t)
	expect(t, "paused", got, apply.Planned)
	if out.Closed == "" || len(b.fake.Calls) > 0 {
		t.Errorf("closed %q, asked for %q", out.Closed, b.fake.Calls)
	}
	if err := os.Remove(pause); err != nil {
		t.Fatal(err)
	}
	b.now = time.Date(2026, 5, 2, 5, 59, 59, 0, time.UTC)
	if out, _ = b.turn(t); out.Closed == "" || len(b.fake.Calls) > 0 {
		t.Errorf("maintenance: closed %q, asked for %q", out.Closed, b.fake.Calls)
	}
	b.now = b.now.Add(time.Second)
	_, got = b.turn(t)
	expect(t, "after maintenance", got, apply.Done)
}

func TestClockJumps(t *testing.T) {
	b := newSetup(t, t.TempDir())
	b.now = b.now.AddDate(50, 0, 0) // far ahead
	_, got := b.turn(t)
	expect(t, "ahead", got, apply.Done)
	b.now = b.now.AddDate(-50, 0, 0) // set right
	b.want.Node = "n1"
	if _, got = b.turn(t); len(got) > 0 {
		t.Errorf("a job that was changed at an unknown time: %q", got)
	}
	b.now = b.now.Add(31 * time.Minute)
	_, got = b.turn(t)
	expect(t, "half an hour after the clock was set right", got, apply.Done)
	if text, err := os.ReadFile(filepath.Join(operate.Folder(b.Config), "state.json")); err != nil || bytes.Contains(text, []byte(`"2076-`)) {
		t.Errorf("%v: times far ahead stay: %s", err, text)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	b := newSetup(t, t.TempDir())
	b.fake.Fault = func(at string) error { return errors.New("unexpected end of JSON input") }
	out, err := b.Turn(t.Context())
	if err == nil || out.Error == "" {
		t.Errorf("a queue that answers nonsense: %v, %+v", err, out)
	}
	b.fake.Fault = nil
	plan := b.Plan
	b.Plan = func(context.Context, string, string) (*data.Plan, error) {
		return nil, errors.New("no job can be planned")
	}
	if _, err = b.Turn(t.Context()); err == nil || len(b.fake.Calls) > 0 {
		t.Errorf("no plan: %v, asked for %q", err, b.fake.Calls)
	}
	b.Plan = plan
	if err := os.WriteFile(filepath.Join(operate.Folder(b.Config), "state.json"), []byte(`{"changed":{"1":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Turn(t.Context()); err == nil || len(b.fake.Calls) > 0 {
		t.Errorf("half a state: %v, asked for %q", err, b.fake.Calls)
	}
}

func TestReservedNodesTakeNothing(t *testing.T) {
	b := newSetup(t, t.TempDir())
	reserved := reserving{b.fake, queue.Reservation{Name: "maint", Start: b.now.Add(30 * time.Minute), End: b.now.Add(2 * time.Hour), Nodes: []string{"n2"}}}
	b.Scheduler = reserved
	out, err := b.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := data.Load(filepath.Join(out.Folder, "cluster.yaml"), data.ReadCluster)
	if err != nil || !c.Nodes[1].Drained || c.Nodes[0].Drained {
		t.Errorf("cluster.yaml: %v: %+v", err, c)
	}
}

type reserving struct {
	*queuetest.Fake
	r queue.Reservation
}

func (r reserving) Read(ctx context.Context) (*queue.Snapshot, error) {
	s, err := r.Fake.Read(ctx)
	s.Reservations = append(s.Reservations, r.r)
	return s, err
}

func TestHeldJobsWithoutARuleAreReleased(t *testing.T) {
	b := newSetup(t, t.TempDir())
	j := b.fake.Add("3", 1)
	j.Held, j.HeldByUs, j.Name = true, true, "renamed"
	out, _ := b.turn(t)
	if !slices.Equal(out.Released, []string{"3"}) || b.fake.Get("3").Held {
		t.Errorf("released %q", out.Released)
	}
}

func TestRelease(t *testing.T) {
	b := newSetup(t, t.TempDir())
	for _, id := range []string{"3", "4"} {
		b.fake.Add(id, 1).Held = true
	}
	b.fake.Get("3").HeldByUs = true
	b.Confirm = false
	if ids, err := b.Release(t.Context()); err != nil || !slices.Equal(ids, []string{"3"}) || len(b.fake.Calls) > 0 {
		t.Errorf("dry: %q, %v, asked for %q", ids, err, b.fake.Calls)
	}
	b.Confirm = true
	if ids, err := b.Release(t.Context()); err != nil || !slices.Equal(ids, []string{"3"}) || b.fake.Get("3").Held || !b.fake.Get("4").Held {
		t.Errorf("%q, %v: %q", ids, err, b.fake.Calls)
	}
}

func TestAllowEverything(t *testing.T) {
	for text, ok := range map[string]bool{"": false, "allow: []": false, "allow: [{user: ann}, {name: '*'}]": false, "allow: [{labels: {knee: yes}}]": true} {
		c, err := data.ReadOperate(strings.NewReader("scheduler: slurm\n"+text), "f")
		if err != nil {
			t.Fatal(err)
		}
		if err := operate.CheckAllow(c); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// However often the loop is killed and restarted, it moves its job once, and leaves
// the other alone. Package apply draws plans and crashes at random.
func TestLoopKilledAnywhere(t *testing.T) {
	for first := range 14 { // a turn asks for less than that
		b := newSetup(t, t.TempDir())
		b.fake.Leave = first % 3
		for _, after := range []int{first, first / 2} {
			b.killed(after)
			b.open(t)
		}
		for range 2 { // the first may find the job on its way
			b.turn(t)
			b.now = b.now.Add(31 * time.Minute)
		}
		one, two := b.fake.Get("1"), b.fake.Get("2")
		if len(b.fake.Jobs) != 2 || !data.SameNodes(one.Nodes, []data.NodeShare{b.want}) || one.Restarts != 1 || two.Restarts != 0 {
			t.Fatalf("killed after %d: job 1 on %v after %d restarts, job 2 after %d: %q", first, one.Nodes, one.Restarts, two.Restarts, b.fake.Calls)
		}
	}
}

// killed makes a turn that is killed after some of what it asks of the
// scheduler.
func (b *setup) killed(after int) {
	b.fake.Fault = func(at string) error {
		if after--; after < 0 {
			return queuetest.Crashed{At: at}
		}
		return nil
	}
	defer func() {
		b.fake.Fault = nil
		if why := recover(); why != nil {
			if _, ok := why.(queuetest.Crashed); !ok {
				panic(why)
			}
		}
	}()
	_, _ = b.Turn(context.Background())
}
