package speed

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
	"knee/internal/leastsq"
)

// group is the fit of all measurements of one mode; under published families of
// one GPU type.
type group struct {
	mode      data.Mode
	family    string
	plain     bool // layouts are left out
	types     []string
	rows      []row              // merged repetitions, at most maxRows
	held      []data.Measurement // of the same mode, see [Settings.HeldOut]
	counts    []int              // measurements before merging, by GPU type
	pts       []form.Point
	knobs     []knob
	ranges    []measuredRange // by GPU type
	borrowed  []borrowed      // by GPU type
	scale     form.Scale
	arch      data.Architecture // of the job, most frequent; zero if unknown
	asked     data.Architecture // of all predictions, see [Model.For]
	prior     *prior.Speed
	task      *task
	z         []float64
	status    string             // solver status, empty if converged
	outliers  []string           // messages
	stops     map[string]float64 // s, the least step times of configurations known by a time limit alone, see stopKey
	suspect   bool               // the largest size is far slower than the others say
	without   int                // rows without a batch
	size      sizes
	likeliest node    // of the sizes
	evidence  float64 // log evidence
	post      *posterior
	serial    bool     // see [assumption]
	absent    []string // coordinates of parts of the form that take no time
	separate  bool     // see [assumption.Separate]
	tier      float64  // see [assumption.Tier]
	slowing   float64  // see [assumption.Slowing]
	disturbed int      // see [assumption.Disturbed]
	members   []member // further models in the average
}

// newGroup prepares the fit of measurements of one mode.
func newGroup(ms []data.Measurement, s Settings) (*group, error) {
	ms, units := leaveOutUnits(ms)
	ms, outliers := screenRepeats(ms)
	g := &group{plain: s.ignoreLayouts, mode: ms[0].ModeOrDefault(), outliers: slices.Concat(units, outliers), prior: s.Prior}
	if g.prior == nil {
		g.prior = prior.Default()
	}
	var err error
	layouts := slices.ContainsFunc(ms, func(m data.Measurement) bool { return !m.Plain() })
	if g.family, err = familyFor(s.Family, g.mode, layouts); err != nil {
		return nil, err
	}
	for _, m := range ms {
		if !slices.Contains(g.types, m.GPUType) {
			g.types, g.counts = append(g.types, m.GPUType), append(g.counts, 0)
		}
		g.counts[slices.Index(g.types, m.GPUType)]++
	}
	for _, m := range s.HeldOut {
		if m.ModeOrDefault() == g.mode {
			g.held = append(g.held, m)
		}
	}
	g.rows = selectRows(merge(ms), maxRows, g.held)
	slices.SortStableFunc(g.rows, func(a, b row) int {
		return cmp.Or(slices.Index(g.types, a.GPUType)-slices.Index(g.types, b.GPUType), a.Workers-b.Workers, cmp.Compare(a.LocalBatch, b.LocalBatch), cmp.Compare(a.Key(), b.Key()))
	})
	for i := range g.rows {
		g.rows[i].Mode = g.mode
	}
	if err := g.architecture(); err != nil {
		return nil, err
	}
	g.measure()
	g.borrowed = make([]borrowed, len(g.types))
	if g.borrowed, err = g.borrow(s); err != nil {
		return nil, err
	}
	return g, g.prepare()
}

// learned reports whether the family has a learned prior and a process.
func (g *group) learned() bool {
	return g.family == form.CollectiveFamily || g.family == form.ServerFamily || g.family == form.LayoutFamily
}

// architecture takes the size of the model from the rows: the most frequent one
// if the job was measured in several.
func (g *group) architecture() error {
	count, known := map[data.Architecture]int{}, 0
	for i := range g.rows {
		a := g.rows[i].Architecture
		if a.Zero() {
			continue
		}
		known++
		if count[a]++; count[a] > count[g.arch] || g.arch.Zero() {
			g.arch = a
		}
	}
	if len(count) > 1 && known < len(g.rows) {
		i := slices.IndexFunc(g.rows, func(r row) bool { return r.Architecture.Zero() })
		src := g.rows[i].Source
		src.Column = "layers"
		return &data.InputError{Source: src, Found: "nothing", Want: "the size of the model (layers, hidden, seq_len), since other rows of the job give several sizes"}
	}
	return nil
}

// measure computes scale, knobs and ranges from the rows.
func (g *group) measure() {
	g.scale, g.without = scaleOf(g.rows), 0
	for i := range g.rows {
		if g.rows[i].LocalBatch <= 0 {
			g.without++
		}
	}
	g.knobs = knobsOf(g.rows, g.held)
	g.ranges = nil
	for _, t := range g.types {
		g.ranges = append(g.ranges, rangeOf(g.rows, t, g.knobs))
	}
}

// point returns the point of a configuration, without nodes if none were
// recorded. words are the labels of knobs with an unmeasured word as value.
func (g *group) point(c data.Config) (p form.Point, words []string) {
	t := max(slices.Index(g.types, c.GPUType), 0)
	var nodes, widest int
	if !g.ranges[t].Placed {
		if c.Nodes > 0 || len(c.Placement) > 0 {
			nodes, widest = c.NodeCount(), c.WidestNode()
		}
		c.Nodes, c.Placement = 0, nil
	}
	if g.without == len(g.rows) {
		c.LocalBatch = 0
	}
	p = form.NewPoint(c, g.scale)
	p.AskedNodes, p.AskedWidest = float64(nodes), float64(widest)
	p.Type, p.Offsets = t, form.OffsetsOf(c.Architecture.Or(g.arch))
	if c.GPUType == "cpu" {
		p.Offsets = p.Offsets.OfComputing()
	}
	p.Knobs, words = knobCoordinates(g.knobs, c, p.Offsets.Unit)
	if g.learned() {
		step, compute, _ := g.resized(c)
		p.LnStep, p.LnLinks = step.Mean+compute.Mean, -compute.Mean
	}
	return p, words
}

// prepare sets up form, prior and observations of the group.
func (g *group) prepare() error {
	g.pts = make([]form.Point, len(g.rows))
	steps := make([]float64, len(g.rows))
	for i := range g.rows {
		g.pts[i], _ = g.point(g.rows[i].Config)
		steps[i] = g.rows[i].StepTime
	}
	g.scale.Unit = form.Unit(g.pts, steps)
	f := form.Families()[g.family].New(g.mode, g.pts, g.scale, slices.Contains(g.types, "cpu"))
	k := &kernel{Kernel: g.prior.Kernel, tail: g.prior.Tail, shared: 1 - g.prior.Own, smooth: true, center: g.center()}
	if !g.learned() {
		k = &kernel{Kernel: prior.Kernel{Noise: plainNoise}, tail: g.prior.Tail}
	} else {
		f = form.NewSloped(f, g.features())
		if k.weights = g.coordinateWeights(nil); g.family == form.LayoutFamily {
			k.Knobs, k.shapes = k.Layouts, true
		}
	}
	var blocks [][]prior.Coordinate
	for t := range g.types {
		block, err := g.coordinates(f.Names(), t)
		if err != nil {
			return err
		}
		blocks = append(blocks, block)
	}
	var relations []relation
	if !g.separate {
		relations = g.shared(f.Names(), blocks)
	}
	o, err := observe(g.rows, g.pts, k)
	g.task = &task{observed: o, form: form.NewTyped(f, len(g.types)), coords: newCoordinates(blocks), links: g.links(f.Names())}
	g.task.coords.relations, g.task.coords.totals = relations, g.totals(f.Names())
	return err
}

// plainNoise is the prior sd of ln step time around a published family: the
// error these report (Optimus, EuroSys'18, section 6.4; Ernest, NSDI'16,
// section 5: about a tenth).
const plainNoise = .1

// coordinates returns the prior of the coordinates of a GPU type.
func (g *group) coordinates(names []string, t int) ([]prior.Coordinate, error) {
	var out []prior.Coordinate
	for _, n := range names {
		if !g.learned() {
			out = append(out, weak(n))
			continue
		}
		p, ok := g.prior.Forms[g.family][n]
		if !ok {
			p, ok = g.prior.Forms["slopes"][slopeKind(n)]
		}
		if !ok {
			return nil, fmt.Errorf("the prior of family %s lacks %q", g.family, n)
		}
		p = linked(p, g.types[t])
		if b, ok := g.borrowed[t].Coordinates[n]; ok {
			p.Mean, p.SD = b.Mean, b.SD
		}
		p = g.asLimit(n, p)
		p.Own = 1
		if n != form.TypeFactor && n != "compute" {
			p.Own = g.prior.Own
		}
		out = append(out, p)
	}
	return out, nil
}

// linked returns the prior of a coordinate given the links of a GPU type: where
// they are unknown, with or without NVLink, equally likely.
func linked(p prior.Coordinate, gpuType string) prior.Coordinate {
	switch gpu, known := data.FindGPU(gpuType); {
	case known && gpu.Link > 0:
		p.Mean += p.NVLink
	case !known && gpuType != "cpu":
		p.Mean += p.NVLink / 2
		p.SD = math.Hypot(p.SD, p.NVLink/2)
	}
	return p
}

// weak is the prior of a coordinate of a published family. Coordinates are
// logarithms relative to the value that alone explains a typical step: a fifth
// of it, within a factor of e². An exponent is near zero.
func weak(name string) prior.Coordinate {
	if name == "exponent" {
		return prior.Coordinate{SD: 1}
	}
	return prior.Coordinate{Mean: -1.6, SD: 2}
}

// slopeKind returns the entry of the prior for a slope.
func slopeKind(name string) string {
	switch {
	case name == "x_seq_len"+ofLinks:
		return "seq_len_links"
	case strings.HasSuffix(name, ofLinks):
		return "links"
	case strings.HasSuffix(name, curvature):
		return "curvature"
	case strings.HasSuffix(name, thirdOrder):
		return "third_order"
	case strings.HasPrefix(name, "x_") && strings.Contains(name, "="):
		return "level"
	case slices.Contains(data.ArchitectureNames(), strings.TrimPrefix(name, "x_")):
		return strings.TrimPrefix(name, "x_")
	case strings.HasPrefix(name, "x_"):
		return "knob"
	}
	return name
}

// features returns the factors of the form that are powers: the study's own
// knobs, and with several GPU types a nearly free factor for each, so that they
// share only the shape of the curve.
func (g *group) features() []form.Feature {
	fs := knobFeatures(g.knobs)
	if len(g.types) > 1 {
		fs = append(fs, form.Feature{Name: form.TypeFactor, At: func(*form.Point) float64 { return 1 }})
	}
	if from := g.tier; from > 0 {
		fs = append(fs, form.Feature{Name: slowerTier, Links: true, At: func(p *form.Point) float64 {
			if p.Workers >= from {
				return 1
			}
			return 0
		}})
	}
	if from := g.slowing; from > 0 {
		fs = append(fs, form.Feature{Name: slowing, At: func(p *form.Point) float64 {
			if p.Workers >= from {
				return 1 + math.Log2(p.Workers/from)
			}
			return 0
		}})
	}
	return fs
}

// Slopes of a slower tier of the network, and of what slows steps of many workers.
const (
	slowerTier = "tier"
	slowing    = "slowing"
)

// center returns the mean over the rows of the variables of the kernel's
// slopes.
func (g *group) center() (mean slopes) {
	for i := range g.pts {
		for j, u := range slopesOf(&g.pts[i]) {
			mean[j] += u / float64(len(g.pts))
		}
	}
	return mean
}

// coordinateWeights expands the influence of each knob to its coordinates, nil
// if no knob varies. Two words are as far apart as numbers that differ by one
// unit.
func (g *group) coordinateWeights(of []float64) []float64 {
	if !slices.ContainsFunc(g.knobs, func(k knob) bool { return k.varied() }) {
		return nil
	}
	var w []float64
	for i, k := range g.knobs {
		v := 1.
		if of != nil {
			v = of[i]
		}
		if !k.numeric {
			v /= math.Sqrt2
		}
		for range k.size() {
			w = append(w, v)
		}
	}
	if of == nil {
		return append(w, 1, 1, 1)
	}
	return append(w, of[len(g.knobs):]...)
}

// fit finds the posterior.
func (g *group) fit(ctx context.Context, s Settings) error {
	err := g.begin(ctx)
	if err == nil && !s.Screened && g.learned() {
		err = g.screen(ctx)
	}
	switch {
	case err != nil:
	case s.FormOnly:
		g.post = &posterior{task: g.task, scaled: &g.scale, best: g.task.form.Bind(g.task.coords.theta(g.z))}
	default:
		err = g.average(ctx, s.Seed)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", g.kind(), err)
	}
	return nil
}

// refit finds the likeliest assumption again, with other rows.
func (g *group) refit(ctx context.Context) error {
	g.measure()
	if err := g.prepare(); err != nil {
		return err
	}
	return g.begin(ctx)
}

// settle finds the mode of the parameters, infers the sizes of process and
// noise, and finds the mode again.
func (g *group) settle(ctx context.Context) error {
	w, err := g.task.whiten(1, 1)
	if err != nil {
		return err
	}
	best := g.task.mode(w, nil)
	if math.IsNaN(best.Cost) || math.IsInf(best.Cost, 0) {
		return fmt.Errorf("fit of family %s: %v", g.family, best.Status)
	}
	g.z = best.X
	if err := ctx.Err(); err != nil {
		return err
	}
	if err = g.infer(); err != nil {
		return err
	}
	best = g.task.mode(g.likeliest.lower, g.z)
	g.z, g.status = best.X, ""
	if best.Status != leastsq.Converged {
		g.status = best.Status.String()
	}
	return ctx.Err()
}

// seed derives the group's seed, independent of the order of groups.
func (g *group) seed(seed int64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%d", strings.Join(g.types, "|"), g.mode, seed)
	return h.Sum64()
}

// kind names GPU types and mode for messages.
func (g *group) kind() string {
	types := slices.Clone(g.types)
	for i, t := range types {
		types[i] = cmp.Or(t, "(no gpu_type)")
	}
	return data.Config{GPUType: english.WordSeries(types, "and"), Mode: g.mode}.Kind()
}

// warnings returns the warnings of the fit.
func (g *group) warnings() []string {
	var w []string
	where := g.kind() + ": "
	if g.status != "" {
		w = append(w, where+"the fit of family "+g.family+" did not converge: "+g.status)
	}
	total := 0
	for _, n := range g.counts {
		total += n
	}
	if total == 1 {
		w = append(w, where+"fitted to a single measurement; everything else is prior knowledge")
	}
	if len(g.rows) == maxRows && total > maxRows {
		w = append(w, fmt.Sprintf("%s%d of %d measurements are used, those farthest apart", where, maxRows, total))
	}
	for _, d := range g.outliers {
		w = append(w, where+d)
	}
	if !g.learned() {
		for _, k := range g.knobs {
			if k.varied() {
				w = append(w, fmt.Sprintf("%sx_%s takes %d values, over which family %s averages", where, k.name, len(k.values), g.family))
			}
		}
		return w
	}
	w = append(w, g.unknowns(where)...)
	for _, t := range g.types {
		if _, ok := data.FindGPU(t); !ok && t != "cpu" && t != "" {
			w = append(w, fmt.Sprintf("%s: this gpu_type is unknown, and so are its links: intervals are wide until they are measured", data.Config{GPUType: t, Mode: g.mode}.Kind()))
		}
	}
	return append(w, g.likeLayouts(where)...)
}

// likeLayouts warns of knobs that are named like degrees of parallelism, with
// which workers × batch is not the global batch.
func (g *group) likeLayouts(where string) []string {
	var names []string
	for _, k := range g.knobs {
		if k.kind != ownKnob {
			continue
		}
		switch strings.ToLower(k.name) {
		case "tp", "pp", "cp", "ep", "dp", "tensor_parallel", "pipeline_parallel", "tensor_model_parallel_size", "pipeline_model_parallel_size":
			names = append(names, "x_"+k.name)
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s%s looks like a degree of parallelism, but is used as a plain knob: every worker counts as a replica; to model parallelism, name the columns tp, pp, cp or ep (knee read --columns)", where, strings.Join(names, ", "))}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
