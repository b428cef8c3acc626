// Package slurmqueue is the queue of a Slurm cluster. To hold a running job is
// scontrol requeuehold: it sends SIGTERM to the job's steps, gives them KillWait to
// write a checkpoint, and keeps script and id. To start it is scontrol update of
// its sizes and nodes, then scontrol release.
//
// Words in the comment of a job, after those of its owner, record what Slurm has
// no field for: knee:held, if knee holds the job, and
// knee:requested=NODESxGPUSxTASKS, what its owner requested. The owner writes
// knee:elastic there if the script starts as many tasks as it finds GPUs. Other
// jobs keep their size: sbatch sets SLURM_NTASKS in the environment of the
// script to the first number of tasks, scontrol cannot change it, and srun would
// use it.
package slurmqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/data"
	"knee/internal/hostlist"
	"knee/internal/slurm"
	"knee/operate/queue"

	"github.com/dustin/go-humanize/english"
)

// Commands are the calls of Slurm, replaced in tests.
type Commands struct {
	Details      func(context.Context) ([]slurm.Detail, error)
	Nodes        func(context.Context) ([]slurm.Node, error)
	Reservations func(context.Context) ([]slurm.Reservation, error)
	Control      func(ctx context.Context, args ...string) (string, error)
	HowEnded     func(ctx context.Context, id string) (slurm.End, error)
	Accounts     func(ctx context.Context, cluster string) (*slurm.Accounts, error)
}

// Queue is the queue of one Slurm cluster. It implements [queue.Scheduler].
type Queue struct {
	audit    func(queue.Command) error
	commands Commands
	nodes    map[string]node // since the last Read
	accounts accounts
}

// node is a node, with the cores of it that jobs have which knee cannot change.
type node struct {
	slurm.Node
	gpuType string // as in cluster.yaml
	taken   int
}

// New returns the queue that the Slurm commands on PATH reach. audit is called with
// every command that changes a job before it is run, and again with the answer; if
// it returns an error the command is not run. It may be nil.
func New(audit func(queue.Command) error) *Queue {
	return &Queue{audit: audit, commands: Commands{slurm.Details, slurm.Nodes, slurm.Reservations, slurm.Control, slurm.HowEnded, slurm.AskAccounts}}
}

func (q *Queue) Read(ctx context.Context) (*queue.Snapshot, error) {
	details, err := q.commands.Details(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask Slurm for its jobs: %w", err)
	}
	nodes, err := q.commands.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	cluster, warnings := slurm.Describe(nodes)
	q.nodes = map[string]node{}
	for i, n := range cluster.Nodes {
		q.nodes[n.Name] = node{Node: nodes[i], gpuType: n.GPUType}
	}
	s := &queue.Snapshot{Cluster: cluster, Warnings: warnings}
	for _, d := range details {
		if d.Ended() {
			continue
		}
		j, err := q.job(d)
		if err != nil {
			return nil, fmt.Errorf("job %s of Slurm: %w", d.ID, err)
		}
		if j.Fixed == "" {
			j.Usable = queue.Usable(cluster, func(name string) bool { return q.unusable(d, []data.NodeShare{{Node: name}}, 0) == "" })
		}
		s.Jobs = append(s.Jobs, j)
		if j.Fixed != "" && d.Nodes != "" {
			if err := q.stays(d); err != nil {
				return nil, err
			}
		}
	}
	queue.Sort(s.Jobs)
	reservations, err := q.commands.Reservations(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask Slurm for its reservations: %w", err)
	}
	for _, r := range reservations {
		nodes, err := hostlist.Expand(r.Nodes)
		if err != nil {
			return nil, fmt.Errorf("reservation %s: %w", r.Name, err)
		}
		s.Reservations = append(s.Reservations, queue.Reservation{Name: r.Name, Start: r.Start, End: r.End, Nodes: nodes})
	}
	if len(details) > 0 {
		q.limit(ctx, s, details[0].Cluster)
	}
	return s, nil
}

func (q *Queue) job(d slurm.Detail) (queue.Job, error) {
	j := queue.Job{ID: d.ID, Kind: "job", Name: d.Name, User: d.User, Account: d.Account, Partition: d.Partition, Queue: d.QOS,
		Reason: d.Reason, Submitted: d.Submit, Started: d.Start, Priority: d.Priority, Restarts: d.Restarts, Requeue: d.Requeue,
		Resizable: slices.Contains(strings.Fields(d.Comment), elastic),
		Log:       logOf(d), Handle: d}
	switch {
	case d.State == "RUNNING" || d.State == "SUSPENDED":
		j.State = queue.Running
	case d.Waiting() && d.Nodes == "":
		j.State = queue.Pending
	default:
		j.State = queue.Stopping
	}
	j.Held = d.Priority == 0 && j.State != queue.Running
	j.HeldByUs = j.Held && slices.Contains(strings.Fields(d.Comment), held)
	shape, _ := gpusOf(d.TRESPerNode)
	j.Workers = shape.Count * d.NodeCount
	was, _ := original(d)
	j.Requested = was.nodes * was.perNode
	if shape.Type != "" {
		j.GPUType, j.GPUTypes = data.GPUTypeOf(shape.Type), []string{data.GPUTypeOf(shape.Type)}
	}
	if err := q.occupied(d, &j); err != nil {
		return j, err
	}
	j.Fixed = fixed(d, j)
	return j, nil
}

// stays counts the cores of a job that knee cannot change.
func (q *Queue) stays(d slurm.Detail) error {
	names, err := hostlist.Expand(d.Nodes)
	for _, name := range names {
		n := q.nodes[name]
		n.taken += (d.CPUs + len(names) - 1) / len(names)
		q.nodes[name] = n
	}
	return err
}

// occupied sets what a job has on its nodes.
func (q *Queue) occupied(d slurm.Detail, j *queue.Job) error {
	if j.State == queue.Pending || d.Nodes == "" {
		return nil
	}
	nodes, err := hostlist.Expand(d.Nodes)
	if err != nil {
		return err
	}
	for i, n := range nodes {
		text := d.TRESPerNode
		if len(d.GRES) == len(nodes) {
			text = d.GRES[i]
		}
		g, err := gpusOf(text)
		if err != nil {
			return err
		}
		if g.Count == 0 && q.nodes[n].gpuType == "cpu" { // its cores are the slots
			g = slurm.GRES{Type: "cpu", Count: max(1, d.CPUsPerTask) * max(1, d.Tasks/len(nodes))}
		}
		if g.Count > 0 {
			j.Nodes = append(j.Nodes, data.NodeShare{Node: n, Workers: g.Count})
			j.GPUType = cmp.Or(data.GPUTypeOf(g.Type), q.nodes[n].gpuType)
		}
	}
	if len(j.Nodes) > 0 {
		j.Workers = queue.Workers(j.Nodes)
	}
	return nil
}

var withoutKind = strings.NewReplacer("gres:", "", "gres/", "")

// withGPUs is a list such as "gres:gpu:a100:2,gres:nic:1" with n GPUs, for scontrol.
func withGPUs(text string, n int) string {
	gpus, _ := gpusOf(text)
	list := []string{strings.TrimSuffix("gpu:"+gpus.Type, ":") + ":" + strconv.Itoa(n)}
	for other := range strings.SplitSeq(withoutKind.Replace(text), ",") {
		if name, _, _ := strings.Cut(other, ":"); name != "gpu" {
			list = append(list, other)
		}
	}
	return strings.Join(list, ",")
}

// gpusOf adds up the GPUs of a list such as "gres:gpu:a100:2" or "gpu:a100:2(IDX:0-1)".
func gpusOf(text string) (slurm.GRES, error) {
	out := slurm.GRES{}
	list, err := slurm.ParseGRES(withoutKind.Replace(text))
	for _, g := range list {
		if g.Name == "gpu" {
			out.Type, out.Count = g.Type, out.Count+g.Count
		}
	}
	return out, err
}

// fixed returns why scontrol update cannot give a job another size or place.
func fixed(d slurm.Detail, j queue.Job) string {
	_, changed := original(d)
	switch {
	case d.Het:
		return "it is a part of a heterogeneous job"
	case d.Array:
		return "it is a part of an array"
	case !d.Batch:
		return "it has no batch script to start again"
	case strings.Contains(d.TRESOther, "gpu"):
		return "it asks for GPUs by " + d.TRESOther + ", which Slurm cannot change; --gres can be changed"
	case !strings.Contains(d.TRESPerNode, "gpu"):
		return "it asks for no GPUs"
	case d.Required != "" && !changed:
		return "its owner has chosen its nodes"
	case d.Reservation != "":
		return "it belongs to the reservation " + d.Reservation
	case j.State == queue.Pending && d.Dependency != "":
		return "it waits for other jobs: " + d.Dependency
	case j.State == queue.Pending && d.Reason == "BeginTime":
		return "the time before which it may not begin has not come"
	case j.State == queue.Running && d.State != "RUNNING":
		return "it is " + strings.ToLower(d.State)
	}
	return ""
}

// logOf is the file of a job's output on the shared file system.
func logOf(d slurm.Detail) string {
	names := strings.NewReplacer("%%", "%", "%j", d.ID, "%A", d.ID, "%x", d.Name, "%u", d.User)
	out := names.Replace(cmp.Or(d.StdOut, "slurm-%j.out"))
	if !filepath.IsAbs(out) {
		out = filepath.Join(d.WorkDir, out)
	}
	return out
}

func (q *Queue) Log(_ context.Context, j queue.Job, path string, _ time.Time) (io.ReadCloser, error) {
	if path = cmp.Or(path, j.Log); path == "" {
		return nil, fs.ErrNotExist
	}
	return os.Open(path)
}

func (q *Queue) Check(j queue.Job, to []data.NodeShare) string {
	d := j.Handle.(slurm.Detail)
	for _, s := range to {
		switch want, _ := gpusOf(d.TRESPerNode); {
		case s.PS > 0:
			return "a job of Slurm has no parameter servers of its own"
		case s.Workers != to[0].Workers:
			return "Slurm gives every node of a job equally many GPUs"
		case want.Type != "" && !slices.ContainsFunc(q.nodes[s.Node].GRES, func(g slurm.GRES) bool { return g.Name == "gpu" && strings.EqualFold(g.Type, want.Type) }):
			return fmt.Sprintf("it requests GPUs of type %s by name, which Slurm cannot change; --gres=gpu:%d leaves the type open", want.Type, want.Count)
		}
	}
	if len(to) > 0 && !j.Resizable && (len(to) != d.NodeCount || queue.Workers(to) != j.Workers) {
		return fmt.Sprintf("it stays at %s with %s: its comment does not say %s, that its script starts as many tasks as it finds GPUs", english.Plural(d.NodeCount, "node", ""), english.Plural(j.Workers, "GPU", ""), elastic)
	}
	tasks, err := sizes(d, to)
	if err != nil {
		return err.Error()
	}
	return q.unusable(d, to, max(1, d.CPUsPerTask)*tasks/len(to))
}

// unusable returns why Slurm would not start a job on nodes with so many cores on each,
// empty if it would once their GPUs are free.
func (q *Queue) unusable(d slurm.Detail, to []data.NodeShare, cores int) string {
	holdsAll := func(partition string) bool {
		return !slices.ContainsFunc(to, func(s data.NodeShare) bool { return !slices.Contains(q.nodes[s.Node].Partitions, partition) })
	}
	if !slices.ContainsFunc(strings.Split(d.Partition, ","), holdsAll) {
		return "not all of these nodes are in its partition " + d.Partition
	}
	var excluded []string
	if d.Excluded != "" {
		var err error
		if excluded, err = hostlist.Expand(d.Excluded); err != nil {
			return fmt.Sprintf("its --exclude: %v", err)
		}
	}
	for _, s := range to {
		switch n := q.nodes[s.Node]; {
		case slices.Contains(excluded, s.Node):
			return fmt.Sprintf("its --exclude=%s rules out node %s", d.Excluded, s.Node)
		case !matches(d.Features, n.Features):
			return fmt.Sprintf("node %s is not known to meet its --constraint=%s", s.Node, d.Features)
		case cores > n.CPUs-n.taken:
			return fmt.Sprintf("it needs %s of node %s, which has %d besides those of jobs that stay", english.Plural(cores, "core", ""), s.Node, n.CPUs-n.taken)
		}
	}
	return ""
}

// matches reports whether a node has the features of a constraint such as "a&b" or
// "a|b". Those with counts, brackets or parentheses, which concern several nodes, are
// never met.
func matches(constraint string, features []string) bool {
	return slices.ContainsFunc(strings.Split(constraint, "|"), func(all string) bool {
		return all == "" || !slices.ContainsFunc(strings.Split(all, "&"), func(f string) bool { return !slices.Contains(features, f) })
	})
}

// sizes returns the tasks of a job on nodes: as many for each GPU as its owner
// requested, or one on each node if its owner requested one on each.
func sizes(d slurm.Detail, to []data.NodeShare) (tasks int, err error) {
	was, _ := original(d)
	now, _ := gpusOf(d.TRESPerNode)
	per, gpus := to[0].Workers, was.nodes*was.perNode
	switch {
	case was.tasks == was.nodes && (was.perNode > 1 || d.TasksPerNode == 1):
		return len(to), nil
	case d.TasksPerNode > 0 && per != now.Count:
		return 0, fmt.Errorf("its --ntasks-per-node=%d, which Slurm cannot change, is for %s on a node; --ntasks leaves it open", d.TasksPerNode, english.Plural(now.Count, "GPU", ""))
	case gpus > 0 && was.tasks*per*len(to)%gpus == 0:
		return max(1, was.tasks*per*len(to)/gpus), nil
	}
	return 0, fmt.Errorf("its %s cannot be shared by %s as by %d", english.Plural(was.tasks, "task", ""), english.Plural(per*len(to), "GPU", ""), gpus)
}

func (q *Queue) Ended(ctx context.Context, j queue.Job) (well bool, how string) {
	end, err := q.commands.HowEnded(ctx, j.ID)
	if err != nil {
		return false, err.Error()
	}
	return end.State == "COMPLETED", fmt.Sprintf("%s, exit code %d", end.State, end.Exit)
}

func (q *Queue) Hold(ctx context.Context, j queue.Job) error {
	d := j.Handle.(slurm.Detail)
	was, changed := original(d)
	words := add(d.Comment, held)
	if !changed {
		words = add(words, fmt.Sprintf("%s%dx%dx%d", askedFor, was.nodes, was.perNode, was.tasks))
	}
	if err := q.control(ctx, j, "update", "JobId="+j.ID, "Comment="+words); err != nil {
		return err
	}
	if j.State != queue.Pending {
		return q.control(ctx, j, "requeuehold", "Incomplete", j.ID) // else one that has just ended would run again
	}
	if err := q.control(ctx, j, "hold", j.ID); err != nil {
		return err
	}
	// On a job that has started, scontrol hold succeeds and takes effect at its next
	// requeue.
	now, err := q.detail(ctx, j.ID)
	if err != nil || now.Waiting() {
		return err
	}
	return errors.Join(errors.New("it has started meanwhile"), q.control(ctx, j, "release", j.ID),
		q.control(ctx, j, "update", "JobId="+j.ID, "Comment="+remove(now.Comment, held)))
}

func (q *Queue) Start(ctx context.Context, j queue.Job, to []data.NodeShare) error {
	d, err := q.detail(ctx, j.ID)
	switch {
	case err != nil:
		return err
	case !d.Waiting() || d.Nodes != "":
		return fmt.Errorf("it is %s and not waiting", strings.ToLower(d.State))
	}
	var names []string
	for _, s := range to {
		names = append(names, s.Node)
	}
	size := to
	if len(to) == 0 {
		was, ok := original(d)
		if !ok {
			return errors.New("its comment no longer says what its owner requested")
		}
		size = slices.Repeat([]data.NodeShare{{Workers: was.perNode}}, was.nodes)
	}
	tasks, err := sizes(d, size)
	if err != nil {
		return err
	}
	// The begin time that Slurm gave the requeued job is kept: until the credential
	// of the last start has expired (cred_expire in AuthInfo, two minutes) a node may
	// mistake the next start for it, and the job would fail.
	//
	// The former node list is removed first: Slurm refuses fewer nodes than it names.
	if err := q.control(ctx, j, "update", "JobId="+j.ID, "ReqNodeList="); err != nil {
		return err
	}
	args := []string{"update", "JobId=" + j.ID, fmt.Sprintf("NumNodes=%d-%d", len(size), len(size)),
		fmt.Sprintf("NumTasks=%d", tasks), fmt.Sprintf("NumCPUs=%d", max(tasks*max(1, d.CPUsPerTask), len(size))),
		fmt.Sprintf("MinCPUsNode=%d", max(1, d.CPUsPerTask)*max(1, d.TasksPerNode)), "Gres=" + withGPUs(d.TRESPerNode, size[0].Workers)}
	if len(names) > 0 {
		args = append(args, "ReqNodeList="+hostlist.Compress(names))
	}
	if err := q.control(ctx, j, args...); err != nil {
		return err
	}
	if err := q.control(ctx, j, "release", j.ID); err != nil {
		return err
	}
	// If knee is killed here knee:held stays; it is ignored of a job that is not held.
	return q.control(ctx, j, "update", "JobId="+j.ID, "Comment="+remove(d.Comment, held))
}

func (q *Queue) detail(ctx context.Context, id string) (slurm.Detail, error) {
	all, err := q.commands.Details(ctx)
	if err != nil {
		return slurm.Detail{}, err
	}
	for _, d := range all {
		if d.ID == id && !d.Ended() {
			return d, nil
		}
	}
	return slurm.Detail{}, fmt.Errorf("job %s is not in the queue any more", id)
}

func (q *Queue) control(ctx context.Context, j queue.Job, args ...string) error {
	c := queue.Command{Job: j.ID, Name: j.Name, Command: append([]string{"scontrol"}, args...)}
	return queue.Audited(q.audit, c, func() (string, error) {
		out, err := q.commands.Control(ctx, args...)
		return strings.TrimSpace(out), err
	})
}

// Words in the comment of a job, see the package comment.
const (
	elastic  = "knee:elastic"
	held     = "knee:held"
	askedFor = "knee:requested="
)

// shape is what a job asks for.
type shape struct{ nodes, perNode, tasks int }

// original returns what the owner of a job requested: from its comment if knee has
// changed the job, else what it asks for.
func original(d slurm.Detail) (s shape, changed bool) {
	for _, w := range strings.Fields(d.Comment) {
		text, is := strings.CutPrefix(w, askedFor)
		if !is {
			continue
		}
		if n, err := fmt.Sscanf(text, "%dx%dx%d", &s.nodes, &s.perNode, &s.tasks); n == 3 && err == nil &&
			min(s.nodes, s.perNode, s.tasks) > 0 && s.nodes <= hostlist.MaxHosts {
			return s, true
		}
	}
	g, _ := gpusOf(d.TRESPerNode)
	return shape{d.NodeCount, g.Count, d.Tasks}, false
}

// add appends a word to a comment unless the comment has it.
func add(comment, word string) string {
	if slices.Contains(strings.Fields(comment), word) {
		return comment
	}
	return strings.TrimLeft(comment+" "+word, " ")
}

// remove undoes add and leaves the rest of the comment as it is.
func remove(comment, word string) string {
	padded := " " + comment + " "
	i := strings.LastIndex(padded, " "+word+" ")
	if i < 0 {
		return comment
	}
	rest := padded[:i] + padded[i+1+len(word):]
	return strings.TrimSuffix(strings.TrimPrefix(rest, " "), " ")
}
