package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Detail is a job of the queue, with the fields that knee reads.
type Detail struct {
	Job       `json:"-"`
	Name      string `json:"name"`
	User      string `json:"user_name"`
	Account   string `json:"account"`
	QOS       string `json:"qos"`
	Partition string `json:"partition"`
	Cluster   string `json:"cluster"`
	Comment   string `json:"-"`

	Het, Array   bool      `json:"-"`          // part of a heterogeneous job, of an array
	Batch        bool      `json:"batch_flag"` // by sbatch, not salloc or srun
	Requeue      bool      `json:"requeue"`
	Priority     float64   `json:"-"` // 0: held
	Restarts     int       `json:"-"`
	Submit       time.Time `json:"-"`
	Start        time.Time `json:"-"`           // zero if it has not started
	Nodes        string    `json:"nodes"`       // host list of its nodes, in order
	GRES         []string  `json:"gres_detail"` // its generic resources on each node
	NodeCount    int       `json:"-"`
	Tasks        int       `json:"-"`
	CPUsPerTask  int       `json:"-"`
	TasksPerNode int       `json:"-"`              // --ntasks-per-node; 0: not set
	TRESPerNode  string    `json:"tres_per_node"`  // --gres
	TRESOther    string    `json:"-"`              // --gpus, --gpus-per-task, --gpus-per-socket
	CPUs         int       `json:"-"`              // of all its nodes
	Required     string    `json:"required_nodes"` // --nodelist
	Excluded     string    `json:"excluded_nodes"` // --exclude
	Features     string    `json:"features"`       // --constraint
	Reservation  string    `json:"resv_name"`
	Dependency   string    `json:"dependency"`      // jobs it still waits for
	StdOut       string    `json:"standard_output"` // empty: slurm-ID.out in WorkDir
	WorkDir      string    `json:"current_working_directory"`
}

// Details returns every job that the controller knows, ended ones included.
func Details(ctx context.Context) ([]Detail, error) {
	out, err := run(ctx, "squeue", "--all", "--json")
	if err != nil {
		return nil, err
	}
	return ParseDetails([]byte(out))
}

// amount is a number, as Slurm 22.05 writes it, or the object of newer versions:
// {"set": true, "infinite": false, "number": 4}. A number that is not set is 0.
type amount float64

func (a *amount) UnmarshalJSON(b []byte) error {
	var o struct {
		Set, Infinite bool
		Number        float64
	}
	switch {
	case string(b) == "null":
		return nil
	case len(b) > 0 && b[0] == '{':
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		if o.Set && o.Infinite {
			o.Number = math.MaxInt32
		}
		if o.Set {
			*a = amount(o.Number)
		}
		return nil
	}
	return json.Unmarshal(b, (*float64)(a))
}

func (a amount) whole() int { return int(math.Min(math.Max(float64(a), 0), math.MaxInt32)) }

func (a amount) moment() time.Time {
	if a <= 0 || a > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(a), 0).UTC()
}

// rawJob is a job of squeue --json: the parts that differ between versions.
type rawJob struct {
	Detail
	ID           amount  `json:"job_id"`
	State        names   `json:"job_state"`
	Reason       string  `json:"state_reason"`
	Comment      comment `json:"comment"`
	Het          amount  `json:"het_job_id"`
	Array        amount  `json:"array_job_id"`
	Priority     amount  `json:"priority"`
	Restarts     amount  `json:"restart_cnt"`
	Submit       amount  `json:"submit_time"`
	Start        amount  `json:"start_time"`
	NodeCount    amount  `json:"node_count"`
	Tasks        amount  `json:"tasks"`
	CPUs         amount  `json:"cpus"`
	CPUsPerTask  amount  `json:"cpus_per_task"`
	TasksPerNode amount  `json:"tasks_per_node"`
	PerJob       string  `json:"tres_per_job"`
	PerTask      string  `json:"tres_per_task"`
	PerSocket    string  `json:"tres_per_socket"`
}

// comment is a JSON string, or the object of 21.08 and of newer versions.
type comment string

func (c *comment) UnmarshalJSON(b []byte) error {
	var o struct{ Job string }
	if json.Unmarshal(b, (*string)(c)) == nil {
		return nil
	}
	err := json.Unmarshal(b, &o)
	*c = comment(o.Job)
	return err
}

// names is a state: a string in Slurm 22.05, a list since 23.02, or null.
type names []string

func (n *names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = nil
		if one != "" {
			*n = names{one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}

// ParseDetails parses squeue --json. Output without a list of jobs is an error.
func ParseDetails(b []byte) ([]Detail, error) {
	var doc struct {
		Jobs *[]rawJob `json:"jobs"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("queue in JSON: %w", err)
	}
	if doc.Jobs == nil {
		return nil, errors.New("queue in JSON: found no key jobs")
	}
	out := make([]Detail, 0, len(*doc.Jobs))
	for i, r := range *doc.Jobs {
		if r.ID < 1 || len(r.State) == 0 || r.State[0] == "" {
			return nil, fmt.Errorf("queue in JSON: job %d of the list: found id %v and state %q, want both", i+1, float64(r.ID), []string(r.State))
		}
		out = append(out, r.detail())
	}
	return out, nil
}

func (r rawJob) detail() Detail {
	d := r.Detail
	d.Job = Job{ID: strconv.Itoa(r.ID.whole()), State: strings.ToUpper(r.State[0]), Reason: r.Reason}
	d.Comment, d.Het, d.Array, d.Priority = string(r.Comment), r.Het > 0, r.Array > 0, float64(r.Priority)
	d.Restarts, d.NodeCount, d.Tasks = r.Restarts.whole(), r.NodeCount.whole(), r.Tasks.whole()
	d.CPUs, d.CPUsPerTask, d.TasksPerNode, d.Submit = r.CPUs.whole(), r.CPUsPerTask.whole(), r.TasksPerNode.whole(), r.Submit.moment()
	d.TRESOther = strings.Trim(strings.Join([]string{r.PerJob, r.PerTask, r.PerSocket}, ","), ",")
	for _, s := range r.State { // since 23.11 a job that still has processes has this as a second state
		if strings.EqualFold(s, "COMPLETING") {
			d.State = "COMPLETING"
		}
	}
	if d.State != "PENDING" {
		d.Start = r.Start.moment()
	}
	return d
}

// Control runs scontrol and returns what it printed.
func Control(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "scontrol", args...)
}

// Reservation reserves nodes from Start to End.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      string // host list
}

// Reservations returns the reservations of the cluster.
func Reservations(ctx context.Context) ([]Reservation, error) {
	out, err := run(ctx, "scontrol", "show", "reservation", "--oneliner")
	if err != nil {
		return nil, err
	}
	return parseReservations(out, time.Local)
}

const reservationTime = "2006-01-02T15:04:05"

func parseReservations(out string, zone *time.Location) ([]Reservation, error) {
	var list []Reservation
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "ReservationName=") {
			continue // "No reservations in the system"
		}
		f := fieldsOf(line)
		start, err := time.ParseInLocation(reservationTime, f["StartTime"], zone)
		end, bad := time.ParseInLocation(reservationTime, f["EndTime"], zone)
		if err = errors.Join(err, bad); err != nil {
			return nil, fmt.Errorf("scontrol show reservation %s: %w", f["ReservationName"], err)
		}
		list = append(list, Reservation{Name: f["ReservationName"], Start: start, End: end, Nodes: f["Nodes"]})
	}
	return list, nil
}
