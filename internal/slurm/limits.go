package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"knee/data"
)

// ErrNoAccounts: the cluster has no accounting (slurmdbd), and so no limits.
var ErrNoAccounts = errors.New("no accounts are kept (slurmdbd)")

// Limit is the most GPUs or jobs of what matches its first four fields; empty: any.
type Limit struct {
	Account   string // if User is empty, the accounts below it match too
	User      string
	Partition string
	QOS       string
	Each      string // "job", "user" or "account": the limit is for each of them; empty: for all together
	Jobs      bool   // Most counts jobs, not GPUs
	GPUType   string // of the GPUs; empty: any
	Most      int
}

// Accounts are the accounts of a cluster.
type Accounts struct {
	Parent map[string]string // of each account but the root
	Limits []Limit
}

// AskAccounts returns the accounts of the named cluster, and limits of accounts and qualities
// of service. The error is [ErrNoAccounts] if it has no accounting.
func AskAccounts(ctx context.Context, cluster string) (*Accounts, error) {
	var answers []string
	for _, args := range [][]string{
		{"associations", "cluster=" + cluster, "format=Account,ParentName,User,Partition,GrpTRES,GrpJobs,MaxTRES,MaxJobs"},
		{"qos", "format=Name,GrpTRES,GrpJobs,MaxTRES,MaxTRESPU,MaxJobsPU,MaxTRESPA,MaxJobsPA"},
	} {
		out, err := run(ctx, "sacctmgr", append([]string{"--readonly", "--parsable2", "show"}, args...)...)
		if e, ok := errors.AsType[*CommandError](err); ok && strings.Contains(out+e.Text, "accounting_storage/slurmdbd") {
			return nil, ErrNoAccounts
		}
		if err != nil {
			return nil, err
		}
		answers = append(answers, out)
	}
	return ParseAccounts(answers[0], answers[1])
}

// ParseAccounts parses `sacctmgr --parsable2 show` of associations and of qos.
func ParseAccounts(associations, qos string) (*Accounts, error) {
	a := &Accounts{Parent: map[string]string{}}
	rows, err := parsable(associations)
	if err != nil {
		return nil, fmt.Errorf("sacctmgr show associations: %w", err)
	}
	for _, r := range rows {
		if r["User"] == "" && r["ParentName"] != "" {
			a.Parent[r["Account"]] = r["ParentName"]
		}
		whose := Limit{Account: r["Account"], User: r["User"], Partition: r["Partition"]}
		err := a.add(whose, "", r["GrpTRES"], r["GrpJobs"])
		if r["User"] != "" { // users inherit these from their account
			err = errors.Join(err, a.add(whose, "job", r["MaxTRES"], ""), a.add(whose, "", "", r["MaxJobs"]))
		}
		if err != nil {
			return nil, fmt.Errorf("sacctmgr show associations: account %s, user %q: %w", r["Account"], r["User"], err)
		}
	}
	if rows, err = parsable(qos); err != nil {
		return nil, fmt.Errorf("sacctmgr show qos: %w", err)
	}
	for _, r := range rows {
		whose := Limit{QOS: r["Name"]}
		if err := errors.Join(a.add(whose, "", r["GrpTRES"], r["GrpJobs"]), a.add(whose, "job", r["MaxTRES"], ""),
			a.add(whose, "user", r["MaxTRESPU"], r["MaxJobsPU"]), a.add(whose, "account", r["MaxTRESPA"], r["MaxJobsPA"])); err != nil {
			return nil, fmt.Errorf("sacctmgr show qos: %s: %w", r["Name"], err)
		}
	}
	return a, nil
}

func parsable(out string) (rows []map[string]string, err error) {
	var names []string
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		switch {
		case names == nil:
			names = fields
		case len(fields) != len(names):
			return nil, fmt.Errorf("found %.120q, want %d fields", line, len(names))
		default:
			row := map[string]string{}
			for i, name := range names {
				row[name] = fields[i]
			}
			rows = append(rows, row)
		}
	}
	if names == nil {
		return nil, errors.New("found nothing, want the names of columns")
	}
	return rows, nil
}

// add adds the limits of GPUs in a list "cpu=64,gres/gpu:a100=4", and of jobs.
func (a *Accounts) add(whose Limit, each, tres, jobs string) error {
	whose.Each = each
	for part := range strings.SplitSeq(tres, ",") {
		name, text, _ := strings.Cut(part, "=")
		kind, gpu, _ := strings.Cut(name, ":")
		if kind != "gres/gpu" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("found %.80q, want gres/gpu=NUMBER", part)
		}
		l := whose
		l.GPUType, l.Most = data.GPUTypeOf(gpu), n
		a.Limits = append(a.Limits, l)
	}
	if jobs == "" {
		return nil
	}
	n, err := strconv.Atoi(jobs)
	if err != nil || n < 0 {
		return fmt.Errorf("found %.80q jobs, want a number", jobs)
	}
	whose.Jobs, whose.Most = true, n
	a.Limits = append(a.Limits, whose)
	return nil
}
