package data

import (
	"fmt"
	"io"
)

// ReadJobs reads jobs.yaml from r. Paths of models stay relative to the file;
// Source has the line of each job. The list may be empty.
func ReadJobs(r io.Reader, name string) (*JobsFile, error) {
	return readYAML(r, name, &JobsFile{})
}

// WriteJobs writes jobs.yaml. Jobs that [ReadJobs] would refuse are an error.
func WriteJobs(w io.Writer, f *JobsFile) error {
	return writeYAML(w, "jobs", f, ReadJobs)
}

func (f *JobsFile) validate(o *object) {
	seen := map[string]int{}
	for i, j := range f.Jobs {
		if line, dup := seen[j.Name]; dup {
			o.y.fail(j.Source.Line, fmt.Sprintf("jobs[%d].name", i), quote(j.Name)+fmt.Sprintf(", which line %d names too", line), "each job once")
		}
		seen[j.Name] = j.Source.Line
	}
	checkTenants(o, f.Tenants)
}

// checkTenants fails for a duplicate tenant, an unknown parent or a cycle of
// parents.
func checkTenants(o *object, tenants []Tenant) {
	lines := o.items("tenants", "a list of tenants")
	at := map[string]int{}
	for i, t := range tenants {
		if _, dup := at[t.Name]; dup {
			o.y.fail(lines[i].Line, fmt.Sprintf("tenants[%d].name", i), quote(t.Name)+" a second time", "each tenant once")
		}
		at[t.Name] = i
	}
	for i := range tenants {
		up, found, want := i, "a circle of parents", "a tenant without a parent above it"
		for range len(tenants) + 1 { // a longer chain of parents is a cycle
			if tenants[up].Parent == "" {
				want = ""
				break
			}
			next, known := at[tenants[up].Parent]
			if !known {
				found, want = quote(tenants[up].Parent), "the name of a tenant in the list"
				break
			}
			up = next
		}
		if want != "" {
			o.y.fail(lines[i].Line, fmt.Sprintf("tenants[%d].parent", i), found, want)
		}
	}
}

func (t *Tenant) defaults() { t.Weight = 1 }

func (j *Job) defaults() { j.Weight = 1 }

func (j *Job) validate(o *object) {
	if j.Model != "" || o.has("remaining") {
		j.Remaining.check(o)
	}
	if j.Model == "" && o.get("current") == nil {
		o.fail("model", "nothing", "the path of its model, as knee fit writes it, unless the job runs (current) and stays as it is")
	}
}
