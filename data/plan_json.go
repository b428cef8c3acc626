package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

var wantPlan = fmt.Sprintf("the fields of a plan of version %d", PlanVersion)

// ReadPlan reads plan.json from r. Errors are *InputError: unknown fields, a
// version newer than [PlanVersion], or a placement that does not add up to the
// job's workers and servers.
func ReadPlan(r io.Reader, name string) (*Plan, error) {
	text, err := readDocument(r, name, maxDocument)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // byte order mark
	// The version first: other errors in a newer file would mislead.
	var head struct {
		Version *int            `json:"version"`
		Speed   json.RawMessage `json:"speed"` // a model has it
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, JSONError(Source{File: name}, text, 0, err, wantPlan)
	}
	if head.Speed != nil {
		return nil, &InputError{Source: Source{File: name}, Found: "a model", Want: "a plan, which knee allocate --plan writes"}
	}
	if head.Version == nil {
		return nil, &InputError{Source: Source{File: name, Column: "version"}, Found: "nothing", Want: fmt.Sprintf("the version of the plan, from 1 to %d", PlanVersion)}
	}
	if err := CheckVersion("plan", name, *head.Version, PlanVersion); err != nil {
		return nil, err
	}
	p := &Plan{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	dec.UseNumber() // in pod templates
	if err := dec.Decode(p); err != nil {
		return nil, JSONError(Source{File: name}, text, 0, err, wantPlan)
	}
	if err := checkPlan(p, name); err != nil {
		return nil, err
	}
	return p, nil
}

// WritePlan writes plan.json, indented, with empty lists instead of null and
// with a line end. A version of 0 is written as [PlanVersion]. A plan that
// [ReadPlan] would refuse, or with NaN or an infinity, is an error.
func WritePlan(w io.Writer, p *Plan) error {
	out := *p
	if out.Version == 0 {
		out.Version = PlanVersion
	}
	if err := checkPlan(&out, "plan"); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	// Appending to an empty list gives a list, not null.
	out.Inputs, out.Warnings = append([]Input{}, p.Inputs...), append([]string{}, p.Warnings...)
	out.Jobs = append([]PlannedJob{}, p.Jobs...)
	for i := range out.Jobs {
		out.Jobs[i].Placement = append([]NodeShare{}, out.Jobs[i].Placement...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// Actions lists the actions of a plan in the order they are documented.
func Actions() []Action { return []Action{Keep, Start, Grow, Shrink, Move, Pause, Wait} }

func checkPlan(p *Plan, file string) error {
	if err := CheckVersion("plan", file, p.Version, PlanVersion); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, j := range p.Jobs {
		found, want, key := checkPlannedJob(j)
		if seen[j.Name] {
			found, want, key = quote(j.Name)+" twice", "each job once", "name"
		}
		seen[j.Name] = true
		if want != "" {
			return &InputError{Source: Source{File: file, Column: fmt.Sprintf("jobs[%d].%s", i, key)}, Found: found, Want: want}
		}
	}
	return nil
}

// checkPlannedJob returns what is wrong with a job, an empty want if nothing.
func checkPlannedJob(j PlannedJob) (found, want, key string) {
	layoutColumn, layoutFound, layoutWant := j.Layout.Check(j.Workers, j.Mode, Architecture{})
	workers, ps := 0, 0
	for _, s := range j.Placement {
		if s.Node == "" || s.Workers < 0 || s.PS < 0 || s.Workers > maxCount || s.PS > maxCount {
			return fmt.Sprintf("node %q with %d workers and %d ps", s.Node, s.Workers, s.PS), "a node with counts ≥ 0", "placement"
		}
		workers += s.Workers
		ps += s.PS
	}
	hint, known := oneOf(string(j.Action), names(Actions()))
	switch {
	case j.Name == "":
		return "nothing", "the name of the job", "name"
	case !known:
		return quote(string(j.Action)) + hint, "one of " + strings.Join(names(Actions()), ", "), "action"
	case j.Mode != "" && !slices.Contains(Modes(), j.Mode):
		return quote(string(j.Mode)), "allreduce, ps-sync or ps-async", "mode"
	case workers != j.Workers:
		return fmt.Sprint(j.Workers), fmt.Sprintf("%d, the workers of the placement", workers), "workers"
	case ps != j.PS:
		return fmt.Sprint(j.PS), fmt.Sprintf("%d, the ps of the placement", ps), "ps"
	case !j.Action.Runs() && (j.Workers > 0 || j.PS > 0):
		return fmt.Sprint(j.Workers), "0, since the job gets nothing", "workers"
	case j.Action.Runs() && j.Workers == 0:
		return "0", "at least 1, since the job runs", "workers"
	case j.LocalBatch < 0:
		return fmt.Sprint(j.LocalBatch), "samples ≥ 0", "local_batch"
	case layoutWant != "":
		return layoutFound, layoutWant, layoutColumn
	case j.AccumSteps < 0:
		return fmt.Sprint(j.AccumSteps), "at least 0", "accum_steps"
	}
	return "", "", ""
}

// JSONError turns an error of package json into an [*InputError] with line and
// key. at is the offset in text at which decoding began; want describes the
// file.
func JSONError(src Source, text []byte, at int, err error, want string) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	found := err.Error()
	switch {
	case errors.As(err, &syntax):
		src.Line, want = lineAt(text, int64(at)+syntax.Offset), "valid JSON"
	case errors.As(err, &typ):
		src.Line, src.Column = lineAt(text, int64(at)+typ.Offset), typ.Field
		found, want = "a "+typ.Value, "a value of type "+typ.Type.String()
	default:
		if _, field, unknown := strings.Cut(found, "unknown field "); unknown {
			src.Column, found = strings.Trim(field, `"`), "an unknown field"
			if i := bytes.Index(text[at:], []byte(`"`+src.Column+`"`)); i >= 0 {
				src.Line = lineAt(text, int64(at+i))
			}
		}
	}
	return &InputError{Source: src, Found: found, Want: want}
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
