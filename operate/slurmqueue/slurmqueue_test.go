package slurmqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/data"
	"knee/internal/slurm"
	"knee/operate/queue"
)

// controller is a Slurm of three nodes with one job.
type controller struct {
	job   slurm.Detail
	calls []string
	fail  string // the command that fails
	more  []slurm.Detail
	keeps *slurm.Accounts
}

func (c *controller) queue() *Queue {
	return &Queue{commands: Commands{c.Details, c.Nodes, c.Reservations, c.Control, c.HowEnded, c.Accounts}}
}

func (c *controller) Accounts(context.Context, string) (*slurm.Accounts, error) {
	if c.keeps == nil {
		return nil, slurm.ErrNoAccounts
	}
	return c.keeps, nil
}

func (c *controller) Details(context.Context) ([]slurm.Detail, error) {
	return append([]slurm.Detail{c.job, {Job: slurm.Job{ID: "1", State: "COMPLETED"}}}, c.more...), nil
}

func (c *controller) Nodes(context.Context) (out []slurm.Node, err error) {
	for i, gpu := range []string{"a100", "a100", "nvidia_v100-pcie-16gb"} {
		n := slurm.Node{Name: fmt.Sprintf("n%d", i+1), CPUs: 16, GRES: []slurm.GRES{{Name: "gpu", Type: gpu, Count: 4}}, Partitions: []string{"all"}}
		if i != 1 {
			n.Partitions, n.Features = []string{"all", "some"}, []string{"ib", "big"}
		}
		out = append(out, n)
	}
	return out, nil
}

func (c *controller) Reservations(context.Context) ([]slurm.Reservation, error) {
	return []slurm.Reservation{{Name: "m", Nodes: "n[2-3]"}}, nil
}

func (c *controller) Control(_ context.Context, args ...string) (string, error) {
	text := strings.Join(args, " ")
	c.calls = append(c.calls, text)
	if c.fail != "" && strings.HasPrefix(text, c.fail) {
		return "", errors.New("slurm_update error: Invalid node name specified")
	}
	return "", nil
}

func (c *controller) HowEnded(context.Context, string) (slurm.End, error) {
	return slurm.End{State: "FAILED", Exit: 1}, nil
}

func running() slurm.Detail {
	return slurm.Detail{Job: slurm.Job{ID: "7", State: "RUNNING"}, Name: "toy", User: "ann", Partition: "all", Comment: "do not touch knee:elastic", Batch: true, Requeue: true, Priority: 9,
		Nodes: "n[1-2]", GRES: []string{"gpu:a100:2(IDX:0-1)", "gpu:a100:2(IDX:2-3)"}, NodeCount: 2, Tasks: 4, CPUsPerTask: 3, TRESPerNode: "gres:gpu:a100:2", WorkDir: "/w"}
}

func waiting() slurm.Detail {
	d := running()
	d.State, d.Nodes, d.GRES, d.Priority = "PENDING", "", nil, 0
	d.Comment = "do not touch knee:elastic knee:held knee:requested=2x2x4"
	return d
}

func read(t *testing.T, d slurm.Detail) (*controller, *Queue, queue.Job) {
	t.Helper()
	c := &controller{job: d}
	q := c.queue()
	s, err := q.Read(t.Context())
	if err != nil || len(s.Jobs) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := []string{"n2", "n3"}; !slices.Equal(s.Reservations[0].Nodes, want) {
		t.Errorf("reserved %q, want %q", s.Reservations[0].Nodes, want)
	}
	return c, q, s.Jobs[0]
}

func TestRead(t *testing.T) {
	_, _, j := read(t, running())
	if want := []data.NodeShare{{Node: "n1", Workers: 2}, {Node: "n2", Workers: 2}}; j.State != queue.Running || !cmp.Equal(j.Nodes, want) ||
		j.Requested != 4 || j.Fixed != "" || j.Held || !j.Resizable || j.Log != "/w/slurm-7.out" {
		t.Errorf("%+v", j)
	}
	if _, _, j = read(t, waiting()); j.State != queue.Pending || !j.HeldByUs || j.Requested != 4 || j.Fixed != "" {
		t.Errorf("%+v", j)
	}
	for why, change := range map[string]func(*slurm.Detail){
		"part of an array":  func(d *slurm.Detail) { d.Array = true },
		"heterogeneous":     func(d *slurm.Detail) { d.Het = true },
		"no batch script":   func(d *slurm.Detail) { d.Batch = false },
		"gres:gpu:4":        func(d *slurm.Detail) { d.TRESPerNode, d.TRESOther = "", "gres:gpu:4" },
		"no GPUs":           func(d *slurm.Detail) { d.TRESPerNode = "" },
		"has chosen its no": func(d *slurm.Detail) { d.Required = "n1" },
		"it is suspended":   func(d *slurm.Detail) { d.State = "SUSPENDED" },
		"reservation maint": func(d *slurm.Detail) { d.Reservation = "maint" },
		"waits for other jobs: afterok:6(unfulfilled)": func(d *slurm.Detail) {
			*d = waiting()
			d.Dependency = "afterok:6(unfulfilled)"
		},
		"before which it may not begin": func(d *slurm.Detail) {
			*d = waiting()
			d.Reason = "BeginTime"
		},
	} {
		d := running()
		change(&d)
		if _, _, j := read(t, d); !strings.Contains(j.Fixed, why) {
			t.Errorf("fixed because %q, want %q", j.Fixed, why)
		}
	}
}

func TestCheck(t *testing.T) {
	on := func(shares ...string) (out []data.NodeShare) {
		for _, s := range shares {
			var n data.NodeShare
			fmt.Sscanf(s, "%2s:%d", &n.Node, &n.Workers)
			out = append(out, n)
		}
		return out
	}
	for _, c := range []struct {
		change func(*slurm.Detail)
		to     []data.NodeShare
		want   string
	}{
		{func(*slurm.Detail) {}, on("n1:4"), ""},
		{func(*slurm.Detail) {}, on("n1:1", "n2:2"), "equally many"},
		{func(*slurm.Detail) {}, on("n3:4"), "type a100 by name"},
		{func(d *slurm.Detail) { d.TRESPerNode = "gres:gpu:2" }, on("n3:4"), ""},
		{func(d *slurm.Detail) { d.Comment = "" }, on("n1:4"), "stays at 2 nodes"},
		{func(d *slurm.Detail) { d.TasksPerNode = 2 }, on("n1:4"), "--ntasks-per-node=2"},
		{func(d *slurm.Detail) { d.Tasks, d.TasksPerNode = 2, 1 }, on("n1:4"), ""},
		{func(d *slurm.Detail) { d.Tasks = 6 }, on("n1:1"), "cannot be shared"},
		{func(d *slurm.Detail) { d.TRESPerNode = "gres:gpu:nvidia_v100-pcie-16gb:2" }, on("n3:4"), ""},
		{func(d *slurm.Detail) { d.Partition = "some" }, on("n1:4"), ""},
		{func(d *slurm.Detail) { d.Partition = "some" }, on("n1:4", "n2:4"), "partition some"},
		{func(d *slurm.Detail) { d.Partition = "some,all" }, on("n1:4", "n2:4"), ""},
		{func(d *slurm.Detail) { d.Features = "ib&big" }, on("n1:4"), ""},
		{func(d *slurm.Detail) { d.Features = "nvlink|ib" }, on("n1:4"), ""},
		{func(d *slurm.Detail) { d.Features = "ib" }, on("n2:4"), "--constraint=ib"},
		{func(d *slurm.Detail) { d.Features = "[ib*1&big*1]" }, on("n1:4"), "--constraint"},
		{func(d *slurm.Detail) { d.Excluded = "n[2-3]" }, on("n1:4"), ""},
		{func(d *slurm.Detail) { d.Excluded = "n[2-3]" }, on("n2:4"), "rules out node n2"},
		{func(d *slurm.Detail) { d.CPUsPerTask = 4 }, on("n1:4"), ""},
		{func(d *slurm.Detail) { d.CPUsPerTask = 4 }, on("n2:4"), "needs 16 cores of node n2, which has 13"},
	} {
		d := running()
		c.change(&d)
		cores := &controller{job: d, more: []slurm.Detail{{Job: slurm.Job{ID: "8", State: "RUNNING"}, Nodes: "n2", CPUs: 3}}}
		q := cores.queue()
		s, err := q.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j := *s.Find("7")
		if one := len(c.to) == 1; one && strings.Contains(c.want, "--") && slices.Contains(j.Usable, c.to[0].Node) || one && c.want == "" && j.Usable != nil && !slices.Contains(j.Usable, c.to[0].Node) {
			t.Errorf("to %v, %q: usable %q", c.to, c.want, j.Usable)
		}
		if got := q.Check(j, c.to); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("to %v: %q, want %q", c.to, got, c.want)
		}
	}
}

func TestHold(t *testing.T) {
	c, q, j := read(t, running())
	if err := q.Hold(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	want := []string{"update JobId=7 Comment=do not touch knee:elastic knee:held knee:requested=2x2x4", "requeuehold Incomplete 7"}
	if diff := cmp.Diff(want, c.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d := waiting()
	d.Comment, d.Priority = "", 9
	c, q, j = read(t, d)
	c.job.State = "RUNNING" // it starts meanwhile
	if err := q.Hold(t.Context(), j); err == nil || !slices.Contains(c.calls, "release 7") {
		t.Errorf("a job that has started: %v, %q", err, c.calls)
	}
}

func TestStart(t *testing.T) {
	c, q, j := read(t, waiting())
	if err := q.Start(t.Context(), j, []data.NodeShare{{Node: "n2", Workers: 4}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"update JobId=7 ReqNodeList=",
		"update JobId=7 NumNodes=1-1 NumTasks=4 NumCPUs=12 MinCPUsNode=3 Gres=gpu:a100:4 ReqNodeList=n2",
		"release 7", "update JobId=7 Comment=do not touch knee:elastic knee:requested=2x2x4"}
	if diff := cmp.Diff(want, c.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c, q, j = read(t, waiting())
	if err := q.Start(t.Context(), j, nil); err != nil || !strings.Contains(c.calls[1], "NumNodes=2-2 NumTasks=4 NumCPUs=12 MinCPUsNode=3 Gres=gpu:a100:2") {
		t.Errorf("at the size its owner asked for: %v, %q", err, c.calls)
	}
	d := waiting()
	d.TRESPerNode = "gres:gpu:2,gres:nic:1"
	c, q, j = read(t, d)
	if err := q.Start(t.Context(), j, []data.NodeShare{{Node: "n2", Workers: 4}}); err != nil || !strings.Contains(c.calls[1], " Gres=gpu:4,nic:1 ") {
		t.Errorf("with another resource: %v, %q", err, c.calls)
	}
	c, q, j = read(t, waiting())
	c.fail = "update JobId=7 NumNodes"
	var said []queue.Command
	q.audit = func(c queue.Command) error { said = append(said, c); return nil }
	if err := q.Start(t.Context(), j, []data.NodeShare{{Node: "n9", Workers: 4}}); err == nil || slices.Contains(c.calls, "release 7") {
		t.Errorf("an update that failed: %v, %q", err, c.calls)
	}
	if n := len(said); n != 4 || said[n-1].Error == "" || !said[n-1].Answered || said[n-2].Answered {
		t.Errorf("audit: %+v", said)
	}
	c, q, j = read(t, waiting())
	q.audit = func(queue.Command) error { return errors.New("no space left on device") }
	if err := q.Start(t.Context(), j, nil); err == nil || len(c.calls) > 0 {
		t.Errorf("a command that could not be written down: %v, %q", err, c.calls)
	}
	c.fail, c.job = "", running()
	if err := q.Start(t.Context(), j, nil); err == nil {
		t.Error("a running job was started")
	}
}

func TestWordsInComments(t *testing.T) {
	for _, comment := range []string{"", "a", "a  b", "knee:held-by-me"} {
		if got := remove(add(comment, held), held); got != comment {
			t.Errorf("%q came back as %q", comment, got)
		}
	}
}

// A shared limit becomes one for the jobs that share it; one per job is set on each.
func TestLimits(t *testing.T) {
	c := &controller{job: running(), keeps: &slurm.Accounts{Parent: map[string]string{"vision": "research", "research": "root"}, Limits: []slurm.Limit{
		{Account: "research", Most: 12}, {Account: "vision", GPUType: "a100", Most: 4}, {Account: "speech", Most: 1}, {Account: "vision", User: "ann", Jobs: true, Most: 2},
		{Account: "research", User: "ann", Most: 1}, {QOS: "night", Each: "user", Most: 2}, {QOS: "night", Each: "job", Most: 6}, {QOS: "night", Each: "job", Most: 8}}}}
	c.job.Account, c.job.QOS = "vision", "night"
	bob := running()
	bob.ID, bob.User, bob.Account, bob.QOS = "8", "bob", "research", "night"
	c.more = []slurm.Detail{bob}
	s, err := c.queue().Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, one, other := map[string]bool{"7": true, "8": true}, map[string]bool{"7": true}, map[string]bool{"8": true}
	want := []queue.Limit{{Name: "account research", Tenant: "research", Most: 12, Jobs: all}, {Name: "account vision", Tenant: "vision", GPUType: "a100", Most: 4, Jobs: one},
		{Name: "user ann of account vision", Running: true, Most: 2, Jobs: one},
		{Name: "QOS night of user ann", Most: 2, Jobs: one}, {Name: "QOS night of user bob", Most: 2, Jobs: other}}
	if diff := cmp.Diff(want, s.Limits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Jobs[0].Most != 6 || len(s.Warnings) > 0 {
		t.Errorf("most %d, %q", s.Jobs[0].Most, s.Warnings)
	}
	c.keeps = nil
	q := c.queue()
	for _, warnings := range []int{1, 0} { // it is said once
		if s, err = q.Read(t.Context()); err != nil || len(s.Warnings) != warnings || len(s.Limits) > 0 {
			t.Errorf("without accounts: %v, %q, %+v", err, s.Warnings, s.Limits)
		}
	}
}
