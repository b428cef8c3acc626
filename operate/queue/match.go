package queue

import (
	"path"

	"knee/data"
)

// RuleFor returns the first rule that a job matches, nil if there is none.
func RuleFor(rules []data.JobRule, j Job) *data.JobRule {
	for i := range rules {
		if Matches(rules[i].Match, j) {
			return &rules[i]
		}
	}
	return nil
}

// Matches reports whether a job matches all patterns and labels of m.
func Matches(m data.Match, j Job) bool {
	for _, f := range [][2]string{{m.Name, j.Name}, {m.Namespace, j.Namespace}, {m.User, j.User}, {m.Account, j.Account},
		{m.Partition, j.Partition}, {m.Queue, j.Queue}, {m.Kind, j.Kind}} {
		if ok, err := path.Match(f[0], f[1]); f[0] != "" && (!ok || err != nil) {
			return false
		}
	}
	for k, v := range m.Labels {
		if has, ok := j.Labels[k]; !ok || has != v {
			return false
		}
	}
	return true
}
