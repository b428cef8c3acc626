package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/kube"
	"knee/operate"
	"knee/operate/kubequeue"
	"knee/operate/queue"
	"knee/operate/slurmqueue"
)

// schedulers are those whose queues can be read and operated.
var schedulers = []string{"kubernetes", "slurm"}

// openQueue returns the queue of a scheduler, which calls audit with every command
// that changes a job.
func openQueue(name string, namespaces []string, audit func(queue.Command) error) (queue.Scheduler, error) {
	switch name {
	case "slurm":
		return slurmqueue.New(audit), nil
	case "kubernetes":
		client, err := kube.Load(kube.Settings{})
		if err != nil {
			return nil, err
		}
		return kubequeue.New(client, namespaces, audit), nil
	}
	return nil, badFile("scheduler", strconv.Quote(name), strings.Join(schedulers, " or "))
}

// queueFlags name a queue and how its jobs are treated.
type queueFlags struct {
	scheduler, config string
	namespaces        []string
}

// add adds the flags; that of the scheduler is called name.
func (f *queueFlags) add(cmd *cobra.Command, name string) {
	named(cmd, &f.scheduler, name, "", "scheduler", schedulers)
	fileFlag(cmd, &f.config, "config", "operate.yaml with rules, allow-list and limits", "yaml", "yml")
	cmd.Flags().StringSliceVar(&f.namespaces, "namespace", nil, "Kubernetes namespaces, '*' for all (default: the context's)")
	required(cmd, name)
}

// load reads the configuration, nil without one, and takes its namespaces unless
// the flags name others.
func (f *queueFlags) load() (*data.Operate, error) {
	if f.config == "" {
		return nil, nil
	}
	c, err := data.LoadOperate(f.config)
	if err == nil && len(f.namespaces) == 0 {
		f.namespaces = c.Namespaces
	}
	return c, err
}

func newJobs(a *app) *cobra.Command {
	var from queueFlags
	var out format
	cmd := &cobra.Command{
		Use:   "jobs --from SCHEDULER",
		Short: "List every job of a scheduler, as jobs.yaml",
		Long: `jobs lists what each job of a scheduler asked for and has, where, since when,
whose it is, and whether it may be stopped and started again.

The rules of an operate.yaml (--config) say which model belongs to which jobs
and how much work they have; progress is read from their logs. Jobs with a rule
and on the allow-list can be planned. Any other running job stays as it is in
jobs.yaml; waiting jobs without a model are listed by -o table and -o json only.`,
		Example: `  knee jobs --from slurm -o table
  knee jobs --from slurm --config operate.yaml > jobs.yaml
  knee jobs --from kubernetes --namespace team-a,team-b -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			view := queue.View{Now: time.Now()}
			var tenants []data.Tenant
			c, err := from.load()
			if err == nil && c != nil {
				tenants = c.Tenants
				view.Rules, err = operate.Rules(c)
			}
			if err == nil && c != nil {
				view.Movable, err = operate.Movable(c, view.Now)
			}
			if err != nil {
				return err
			}
			s, err := openQueue(from.scheduler, from.namespaces, nil)
			if err != nil {
				return err
			}
			snap, err := s.Read(cmd.Context())
			if err != nil {
				return err
			}
			rows, warnings := view.Rows(cmd.Context(), s, snap)
			a.warn(append(snap.Warnings, warnings...)...)
			if out == "yaml" {
				return data.WriteJobs(a.stdout, queue.File(rows, tenants, snap))
			}
			return out.print(a.stdout, rows, jobsTable(rows, out))
		},
	}
	from.add(cmd, "from")
	formatFlag(cmd, &out, "yaml")
	return cmd
}

func jobsTable(rows []queue.Row, f format) table {
	write := func(v float64) string { // nothing for what is not known
		if v == 0 {
			return ""
		}
		return f.figures()(v)
	}
	t := newTable("id,name,namespace,user,state,requested,nodes,gpu_type,since,queue,priority,requeue,model,step,step_time_s,fixed")
	for _, r := range rows {
		since, state := "", string(r.State)
		if at := cmp.Or(r.Started, r.Submitted); !at.IsZero() {
			since = at.UTC().Format(time.RFC3339)
		}
		if r.Held {
			state = "held"
		}
		t.add(r.ID, r.Name, r.Namespace, r.User, state, write(float64(r.Requested)), nodesText(r.Nodes), r.GPUType, since,
			strings.Trim(r.Partition+" "+r.Queue, " "), write(r.Priority), r.Requeue, r.Model, write(r.Step), write(r.StepTime), r.Fixed)
	}
	return t
}

// nodesText writes shares of nodes: n1:4 n2:2+1ps.
func nodesText(shares []data.NodeShare) string {
	var parts []string
	for _, s := range shares {
		text := fmt.Sprintf("%s:%d", s.Node, s.Workers)
		if s.PS > 0 {
			text += fmt.Sprintf("+%dps", s.PS)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
