package space

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"knee/data"
)

// constraints are the conditions of a study, and how many each refused.
type constraints struct {
	source  data.Source
	texts   []string
	words   map[string]bool // knobs with values that are no numbers
	progs   []*vm.Program
	refused []int
}

// compileConstraints compiles a study's constraints, expressions of expr-lang/expr over the
// knobs such as "workers * local_batch <= 8192": typed, without loops and side effects.
func compileConstraints(s *data.Study) (*constraints, error) {
	cs := &constraints{source: data.Source{File: s.Source.File}, texts: s.Constraints, refused: make([]int, len(s.Constraints)), words: wordKnobs(s)}
	env := cs.env(data.Config{Workers: 1, LocalBatch: 1, Extra: extraKnobs(s)})
	for i, text := range s.Constraints {
		prog, err := expr.Compile(text, expr.Env(env), expr.AsBool(), remainder(), expr.Operator("%", "remainder"), expr.Patch(foldGPUTypes{}))
		if err != nil {
			return nil, &data.InputError{Source: cs.at(i), Found: strconv.Quote(text),
				Want: "a condition over the knobs: " + strings.Join(strings.Fields(err.Error()), " ")}
		}
		cs.progs = append(cs.progs, prog)
	}
	return cs, nil
}

// foldGPUTypes converts names that gpu_type is compared with by [data.GPUTypeOf].
type foldGPUTypes struct{}

func (foldGPUTypes) Visit(node *ast.Node) {
	b, ok := (*node).(*ast.BinaryNode)
	if !ok || !slices.Contains([]string{"==", "!=", "in"}, b.Operator) {
		return
	}
	names := []ast.Node{b.Left, b.Right}
	if !slices.ContainsFunc(names, func(n ast.Node) bool {
		id, ok := n.(*ast.IdentifierNode)
		return ok && id.Value == "gpu_type"
	}) {
		return
	}
	if list, ok := b.Right.(*ast.ArrayNode); ok {
		names = list.Nodes
	}
	for _, n := range names {
		if name, ok := n.(*ast.StringNode); ok {
			name.Value = data.GPUTypeOf(name.Value)
		}
	}
}

// remainder is % for real numbers; expr has it for integers only.
func remainder() expr.Option {
	return expr.Function("remainder", func(v ...any) (any, error) {
		return math.Mod(number(v[0]), number(v[1])), nil
	}, new(func(a, b float64) float64), new(func(a float64, b int) float64), new(func(a int, b float64) float64))
}

func number(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v.(float64)
}

// wordKnobs returns the knobs that have a value that is no number.
func wordKnobs(s *data.Study) map[string]bool {
	words := map[string]bool{}
	for _, k := range s.Space {
		words[strings.TrimPrefix(k.Name, "x_")] = slices.ContainsFunc(k.Values, func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil })
	}
	return words
}

// extraKnobs returns a sample value of every knob that is not built in.
func extraKnobs(s *data.Study) map[string]string {
	extra := map[string]string{}
	for _, k := range s.Space {
		if k.Range != nil {
			extra[strings.TrimPrefix(k.Name, "x_")] = "1"
		} else if len(k.Values) > 0 {
			extra[strings.TrimPrefix(k.Name, "x_")] = k.Values[0]
		}
	}
	for known := range (&constraints{}).env(data.Config{Workers: 1}) {
		delete(extra, known)
	}
	return extra
}

// env holds knobs by name: words if any value of a study's own knob is no number.
func (cs *constraints) env(c data.Config) map[string]any {
	env := map[string]any{
		"gpu_type": c.GPUType, "mode": string(c.ModeOrDefault()), "placement": c.Placement.String(),
		"nodes": c.NodeCount(), "workers": c.Workers, "ps": c.PS,
		"local_batch": c.LocalBatch, "global_batch": c.GlobalBatch(), "accum_steps": c.AccumSteps,
	}
	for _, name := range data.LayoutNames() {
		if v := c.Get(name); data.LayoutWords(name) == nil {
			env[name], _ = strconv.Atoi(v) // a count that Get wrote
		} else {
			env[name] = v
		}
	}
	env["dp"] = c.Replicas()
	for k, v := range c.Extra {
		if x, err := strconv.ParseFloat(v, 64); err == nil && !cs.words[k] {
			env[k] = x
		} else {
			env[k] = v
		}
	}
	return env
}

func (cs *constraints) at(i int) data.Source {
	at := cs.source
	at.Column = fmt.Sprintf("constraints[%d]", i)
	return at
}

func (cs *constraints) keep(c data.Config) (bool, error) {
	env := cs.env(c)
	for i, prog := range cs.progs {
		ok, err := expr.Run(prog, env)
		if err != nil {
			return false, &data.InputError{Source: cs.at(i), Found: strconv.Quote(cs.texts[i]),
				Want: fmt.Sprintf("a condition that can be evaluated for %s: %s", c, strings.Join(strings.Fields(err.Error()), " "))}
		}
		if ok != true {
			cs.refused[i]++
			return false, nil
		}
	}
	return true, nil
}

func (cs *constraints) nothingLeft(s *data.Study, combined int) error {
	if combined == 0 {
		return &data.InputError{Source: data.Source{File: s.Source.File, Column: "space"}, Found: "no valid combination of values",
			Want: "ps ≥ 1 with a parameter-server mode, nodes ≤ workers, a placement with as many workers as workers says, workers that are a multiple of tp × pp × cp, and batches that divide global_batch"}
	}
	worst := slices.Index(cs.refused, slices.Max(cs.refused))
	return &data.InputError{Source: cs.at(worst),
		Found: fmt.Sprintf("constraints that exclude all %d configurations (%q alone excludes %d)", combined, cs.texts[worst], cs.refused[worst]),
		Want:  "constraints that leave at least one"}
}

// Condition returns a test for a part of the objective: for each knob a value, or a comparison
// such as "<= 32"; nil if of is empty. Errors are *data.InputError.
func Condition(s *data.Study, part string, of map[string]string) (func(data.Config) bool, error) {
	if len(of) == 0 {
		return nil, nil
	}
	like := *s
	like.Constraints = nil
	words := wordKnobs(s)
	for _, knob := range slices.Sorted(maps.Keys(of)) {
		text := strings.TrimSpace(of[knob])
		if !strings.ContainsAny(text[:min(1, len(text))], "<>=!") {
			if _, err := strconv.ParseFloat(text, 64); err != nil || words[knob] {
				text = strconv.Quote(text)
			}
			text = "== " + text
		}
		like.Constraints = append(like.Constraints, knob+" "+text)
	}
	cs, err := compileConstraints(&like)
	if err != nil {
		if input, ok := errors.AsType[*data.InputError](err); ok {
			input.Source.Column = "objective." + part
		}
		return nil, err
	}
	return func(c data.Config) bool {
		ok, err := cs.keep(c)
		return ok && err == nil
	}, nil
}
