package slurmqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"knee/internal/slurm"
	"knee/operate/queue"
)

// accounts caches the accounts of the cluster: they change seldom, and a turn
// reads the queue many times.
type accounts struct {
	*slurm.Accounts
	read time.Time
	none bool // the cluster has no accounts
}

const (
	accountsKept = time.Minute      // how long the cache is used
	accountsWait = 10 * time.Second // time limit of a read: slurmdbd may be down, and Slurm enforces its limits anyway
)

// limit adds the limits of accounts and qualities of service to a snapshot.
func (q *Queue) limit(ctx context.Context, s *queue.Snapshot, cluster string) {
	if a := &q.accounts; !a.none && (a.read.IsZero() || time.Since(a.read) > accountsKept) {
		bounded, cancel := context.WithTimeout(ctx, accountsWait)
		defer cancel()
		now, err := q.commands.Accounts(bounded, cluster)
		switch {
		case errors.Is(err, slurm.ErrNoAccounts):
			a.none = true
			s.Warnings = append(s.Warnings, "Slurm keeps no accounts here (no slurmdbd): only the quotas of tenants in operate.yaml are known")
		case err != nil:
			s.Warnings = append(s.Warnings, fmt.Sprintf("the limits of accounts could not be read; the last known ones are used: %v", err))
		default:
			a.Accounts = now
		}
		a.read = time.Now()
	}
	if q.accounts.Accounts == nil {
		return
	}
	s.Parents = q.accounts.Parent
	under := map[string][]*queue.Job{} // jobs of an account and of those below it; of all under ""
	for i := range s.Jobs {
		j := &s.Jobs[i]
		under[""] = append(under[""], j)
		account := j.Account
		for n := 0; account != "" && n <= len(s.Parents); n++ { // more steps: the parents are a cycle
			under[account] = append(under[account], j)
			account = s.Parents[account]
		}
	}
	for _, l := range q.accounts.Limits {
		limit(s, l, under[l.Account])
	}
}

// limit adds a limit to a snapshot: to the jobs themselves if it is per job, else
// as one [queue.Limit] for each set of jobs that share it.
func limit(s *queue.Snapshot, l slurm.Limit, jobs []*queue.Job) {
	shared := map[string]*queue.Limit{}
	for _, j := range jobs {
		if l.User != "" && (l.User != j.User || l.Account != j.Account) || l.Partition != "" && l.Partition != j.Partition || l.QOS != "" && l.QOS != j.Queue {
			continue
		}
		name := nameOf(l)
		switch l.Each {
		case "job":
			switch {
			case l.GPUType != "" && l.GPUType != j.GPUType:
			case l.Most == 0 && j.Fixed == "":
				j.Fixed = name + " may have no GPUs"
			case j.Most == 0 || l.Most < j.Most:
				j.Most = l.Most
			}
			continue
		case "user":
			name += " of user " + j.User
		case "account":
			name += " of account " + j.Account
		}
		if shared[name] == nil {
			shared[name] = &queue.Limit{Name: name, GPUType: l.GPUType, Running: l.Jobs, Most: l.Most, Jobs: map[string]bool{}}
			if l.User == "" && l.QOS == "" {
				shared[name].Tenant = l.Account
			}
		}
		shared[name].Jobs[j.ID] = true
	}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		s.Limits = append(s.Limits, *shared[name])
	}
}

// nameOf names the holder of a limit in messages.
func nameOf(l slurm.Limit) string {
	switch {
	case l.QOS != "":
		return "QOS " + l.QOS
	case l.User != "":
		return "user " + l.User + " of account " + l.Account
	}
	return "account " + l.Account
}
