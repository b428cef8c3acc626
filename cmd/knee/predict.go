package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

type predictFlags struct {
	at, workers, ps, gpuType      string
	mode                          data.Mode
	localBatch, initial, maxBatch float64
	steps, target, delta, budget  float64
	deadline                      string
	confident, accumulation       bool
	price                         priceFlag
	knobs                         knobFlag
	size                          string
	whatIf                        []string
	best                          bool
	top, perNode                  int
	globalBatch                   float64
}

func newPredict(a *app) *cobra.Command {
	f := predictFlags{knobs: knobFlag{}}
	cmd := answering("predict [MODEL.json]", func(cmd *cobra.Command, args []string, out format) error {
		f.gpuType = data.GPUTypeOf(f.gpuType)
		var arch data.Architecture
		var err error
		if f.size != "" {
			arch, err = data.Load(f.size, data.ReadArchitecture)
		}
		switch {
		case err != nil:
			return err
		case len(args) == 0 && f.size == "":
			return usageError("want a MODEL.json, or --model FILE with the size of a model")
		case len(args) == 0:
			return a.predictMemory(arch, f, out)
		}
		m, err := readModel(args[0])
		if err != nil {
			return err
		}
		if f.size != "" {
			if known := m.Architecture(); arch != (data.Architecture{SeqLen: arch.SeqLen}) && known.Count() == 0 || arch.SeqLen > 0 && known.SeqLen == 0 || hasLayouts(m) && !(known.Known() && arch.Or(known).Known()) {
				return badFile("--model", f.size, "a size only where that of the measured network is known: give the measurements columns layers, hidden, heads, seq_len and vocab, fit them again, and give the file the same")
			}
			m = m.For(arch)
		}
		a.warn(f.price.unknown("the model", m.GPUTypes())...)
		goal, err := a.goal(cmd, f, m)
		if err != nil {
			return err
		}
		p := &predict.Predictor{Model: m, Price: m.Prices(f.price), Batch: data.Batch{Initial: f.initial, Max: f.maxBatch}, Goal: goal, Accumulate: f.accumulation, GlobalBatch: f.globalBatch, PerNode: f.perNode}
		if f.layouts(m) {
			for _, flag := range []string{"max-batch", "accumulation", "knob", "mode", "ps", "confident"} {
				if cmd.Flags().Changed(flag) {
					return usageError("--%s has no effect on layouts, which are chosen at the global batch of --global-batch", flag)
				}
			}
			return a.predictLayouts(p, f, out)
		}
		if f.at != "" {
			return a.predictAt(p, f, out)
		}
		configs, err := f.configs(m)
		if err != nil {
			return err
		}
		if f.accumulation && f.maxBatch == 0 && m.Batch().Max == 0 {
			a.note("without --max-batch no batch is larger than the largest measured per worker")
		}
		if n := m.NoiseScale(); n == nil && f.localBatch+f.globalBatch == 0 {
			a.note("without gradient statistics goodput is throughput, and the best batch is the fastest; give knee fit --curve with grad_sqr and grad_var")
		}
		switch lo, _ := m.BatchRange(configs[0].GPUType, configs[0].Mode); {
		case lo == 0 && f.localBatch+f.globalBatch > 0:
			a.warn("no measurement has a batch: the step times are those of whatever batch was measured, not of the one given, which only turns them into samples/s")
		case f.localBatch > 0 && f.localBatch < min(1, lo):
			a.warn(fmt.Sprintf("a worker gets %g samples of a step, which few programs can divide; the fewest measured are %g", f.localBatch, lo))
		}
		switch {
		case f.whatIf != nil:
			return a.whatIf(p, f, configs, out)
		case f.deadline != "" || f.budget > 0:
			return a.predictBest(p, f, configs, out)
		}
		return a.predictSweep(p, f, configs, out)
	})
	fl := cmd.Flags()
	fileFlag(cmd, &f.at, "at", "CSV of configurations, columns as in measurements.csv", "csv", "gz")
	fl.StringVar(&f.workers, "workers", "", workersUsage)
	fl.StringVar(&f.ps, "ps", "", "parameter servers (default: those measured)")
	fl.StringVar(&f.gpuType, "gpu-type", "", "GPU type (default: all measured)")
	choose(cmd, &f.mode, "mode", "allreduce, ps-sync or ps-async (default: all measured)", string(data.AllReduce), string(data.PSSync), string(data.PSAsync))
	bounded(cmd, &f.localBatch, "local-batch", "samples per worker (default: the best; in ps-async the one measured most)", positive("samples per worker"))
	bounded(cmd, &f.initial, "initial-batch", "global batch at efficiency 1 (default: the model's)", positive("samples"))
	bounded(cmd, &f.maxBatch, "max-batch", "largest global batch allowed (default: the model's)", positive("samples"))
	bounded(cmd, &f.steps, "steps", "goal: optimizer steps at the initial batch", positive("steps"))
	bounded(cmd, &f.target, "target-loss", "goal: training loss to reach", data.Any("a finite number"))
	bounded(cmd, &f.delta, "delta", "goal: three epochs whose decrease is below this share of the largest loss", positive("a share"))
	fl.BoolVar(&f.accumulation, "accumulation", false, "allow gradient accumulation")
	fl.StringVar(&f.deadline, "deadline", "", "time to reach the goal in, such as 6h")
	bounded(cmd, &f.budget, "budget", "US$ to reach the goal with", positive("US$"))
	fl.BoolVar(&f.confident, "confident", false, "meet deadline and budget at the bad end of the interval")
	fl.Func("knob", "`values` of a knob (default: measured most); may be repeated", f.knobs.set)
	fl.StringSliceVar(&f.whatIf, "what-if", nil, "joint changes, may be repeated: NAME=FACTORx of compute, fixed, per_batch, intra_node, inter_node, transfer, of layouts launch, tensor, gradient, bubble; overlap=max; hierarchical")
	fl.BoolVar(&f.best, "best", false, "list the fastest layouts that fit")
	f.top = 5
	bounded(cmd, &f.top, "top", "layouts to list", atLeast(1))
	bounded(cmd, &f.globalBatch, "global-batch", "samples per step (default: the best; of layouts measured most)", positive("samples"))
	bounded(cmd, &f.perNode, "per-node", "GPUs per node (default: the most measured)", atLeast(1))
	fl.StringVar(&f.size, "model", "", "YAML with the size of the transformer")
	priced(cmd, &f.price)
	for _, exclusive := range []string{
		"at workers", "at gpu-type", "at mode", "at ps", "at local-batch global-batch", "at knob best", "at what-if deadline", "at budget", "at per-node", "at accumulation local-batch",
		"best what-if", "best local-batch", "best deadline", "best budget", "best accumulation",
		"what-if budget", "what-if global-batch", "steps target-loss delta",
	} {
		cmd.MarkFlagsMutuallyExclusive(strings.Fields(exclusive)...)
	}
	return cmd
}

func (f predictFlags) configs(m *fit.Model) ([]data.Config, error) {
	if err := f.knobs.check(m); err != nil {
		return nil, err
	}
	workersGiven, err := counts("workers", f.workers)
	if err != nil {
		return nil, err
	}
	psGiven, err := counts("ps", f.ps)
	if err != nil {
		return nil, err
	}
	var all []data.Config
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			if f.gpuType != "" && f.gpuType != gpu || f.mode != "" && f.mode != mode {
				continue
			}
			workers, servers := predict.Sizes(m, gpu, mode)
			if workersGiven != nil {
				workers = workersGiven
			}
			if mode.UsesPS() && psGiven != nil {
				servers = psGiven
			}
			for _, ps := range servers {
				for _, knobs := range f.knobs.settings() {
					for _, k := range workers {
						all = append(all, data.Config{Job: m.Job(), GPUType: gpu, Mode: mode, Workers: k, PS: ps, LocalBatch: f.localBatch, Extra: knobs})
					}
				}
			}
		}
	}
	if f.ps != "" && !slices.ContainsFunc(all, func(c data.Config) bool { return c.Mode.UsesPS() }) && len(all) > 0 {
		return nil, usageError("--ps %s: want a mode with parameter servers, ps-sync or ps-async; the prediction is for %s", f.ps, all[0].Kind())
	}
	if len(all) == 0 {
		return nil, usageError("the model has no measurement of %s; it has %s", strings.TrimSpace(f.gpuType+" "+string(f.mode)), measuredKinds(m))
	}
	return all, nil
}

func measuredKinds(m *fit.Model) string {
	var kinds []string
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			kinds = append(kinds, data.Config{GPUType: gpu, Mode: mode}.Kind())
		}
	}
	return strings.Join(kinds, "; ")
}

func (a *app) predictAt(p *predict.Predictor, f predictFlags, out format) error {
	configs, warnings, err := data.LoadTable(f.at, data.ReadConfigs)
	if err != nil {
		return err
	}
	a.warn(warnings...)
	cs, known := make([]data.Config, len(configs)), knobsOf(p.Model)
	for i, c := range configs {
		if cs[i] = c.Config; cs[i].Job == "" {
			cs[i].Job = p.Model.Job()
		}
		for name := range c.Extra {
			if !slices.Contains(known, name) {
				source, want := c.Source, "none, as no measurement has one"
				if source.Column = "x_" + name; len(known) > 0 {
					want = "one of x_" + strings.Join(known, ", x_")
				}
				return &data.InputError{Source: source, Found: "a knob that no measurement has", Want: want}
			}
		}
	}
	sized := func(c data.Config) bool { return !c.Architecture.Zero() }
	if p.Model.Architecture().Zero() && slices.ContainsFunc(cs, sized) {
		a.warn(f.at + ": columns of the network's size are ignored, as no measurement has them")
	}
	if i := slices.IndexFunc(cs, func(c data.Config) bool { return c.Job != p.Model.Job() }); i >= 0 {
		a.warn(fmt.Sprintf("%s: job %q is predicted by the model of job %q", configs[i].Source, cs[i].Job, p.Model.Job()))
	}
	answers, err := p.AtAll(cs)
	if row, ok := errors.AsType[*predict.RowError](err); ok {
		return fmt.Errorf("%s: %w", configs[row.Row].Source, row.Err)
	}
	if err != nil {
		return err
	}
	return a.printAnswers(p.Model, answers, f, out)
}

// predictSweep predicts every configuration and names the knee of each curve.
func (a *app) predictSweep(p *predict.Predictor, f predictFlags, configs []data.Config, out format) error {
	curves, err := predict.Sweeps(p, configs)
	if err != nil {
		return err
	}
	all := slices.Concat(curves...)
	if err := a.printAnswers(p.Model, all, f, out); err != nil {
		return err
	}
	if len(all) < len(configs) && f.localBatch == 0 { // repeats, or sizes without a batch
		for _, c := range configs {
			if _, err := p.BestBatch(c); err != nil {
				a.note("left out: %s: %v", english.Plural(c.Workers, "worker", ""), err)
			}
		}
	}
	for _, curve := range curves {
		if i := predict.Knee(curve); i >= 0 && len(curve) > 2 {
			a.note("%s", kneeLine(curve[i], i == len(curve)-1))
		}
	}
	if len(all) == 1 {
		a.adviseRate(p.Model, all[0])
	}
	return nil
}

// kneeLine names the knee of a curve; last: the curve ends there.
func kneeLine(k predict.Answer, last bool) string {
	which, beyond := "knee of goodput:", "a further worker brings less than half its share"
	if last {
		which, beyond = "no knee of goodput up to", "workers still bring more than half their share"
	}
	if k.Extrapolated {
		beyond = "extrapolated (" + k.Why + "): " + beyond
	}
	return fmt.Sprintf("%s %s, %s: %s samples/s; %s", which, english.Plural(k.Config.Workers, "worker", ""), kindWords(k.Config), between(k.Goodput, number), beyond)
}

// predictBest names the best configuration within deadline and budget.
func (a *app) predictBest(p *predict.Predictor, f predictFlags, configs []data.Config, out format) error {
	limits := predict.Limits{Budget: f.budget, Confident: f.confident}
	if f.deadline != "" {
		d, err := data.ParseDuration(f.deadline)
		if err != nil || d <= 0 {
			return usageError("--deadline %q: want a duration such as 6h or 2d", f.deadline)
		}
		limits.Deadline = d
	}
	best, err := predict.Best(p, configs, limits)
	if err != nil {
		return err
	}
	if err := a.printAnswers(p.Model, []predict.Answer{best}, f, out); err != nil {
		return err
	}
	a.adviseRate(p.Model, best)
	return nil
}

// goal turns the flags into the remaining work, and says when a target loss is reached.
func (a *app) goal(cmd *cobra.Command, f predictFlags, m *fit.Model) (predict.Goal, error) {
	g := predict.Goal{Steps: f.steps, TargetLoss: f.target, HasTarget: cmd.Flags().Changed("target-loss")}
	c := m.Convergence()
	switch {
	case f.delta == 0 && !g.HasTarget:
		return g, nil
	case c == nil:
		return g, fit.ErrNoCurve
	}
	unit := map[bool]string{true: "epochs", false: "steps at the initial batch"}[c.Epochs]
	if f.delta != 0 {
		e, err := c.StepsToConvergence(f.delta)
		if err != nil {
			return g, err
		}
		g.Steps = e.Mean
		if c.Pointwise {
			a.warn("training curve: " + fit.NoEpochs)
		}
		a.note("converges (three epochs in a row with a decrease below %g of the largest loss) after %s %s", f.delta, between(e, number), unit)
	} else {
		t, err := c.Target(f.target)
		if err != nil {
			return g, err
		}
		a.note("reaches %g with probability %.0f %%, after %s %s (%s); %s", f.target, 100*t.Chance, between(t.Steps, number), unit, t.Method, c.Reach.Meaning())
		a.warn(t.Notes...)
	}
	if c.Epochs {
		return g, fit.ErrEpochs
	}
	return g, nil
}

// adviseRate prints scalings of the learning rate for a batch other than the initial one.
func (a *app) adviseRate(m *fit.Model, p predict.Answer) {
	n := m.NoiseScale()
	batch := p.Config.GlobalBatch()
	if n == nil || batch <= 0 || batch == n.InitialBatch {
		return
	}
	var rules []string
	for _, r := range n.LearningRates(batch) {
		rules = append(rules, fmt.Sprintf("%s ×%s", r.Name, number(r.Factor)))
	}
	if len(rules) > 0 {
		a.note("learning rate at global batch %s instead of %s: %s; these rules of thumb disagree, so try them", number(batch), number(n.InitialBatch), strings.Join(rules, ", "))
	}
}
