package fit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/fit/convergence"
	"knee/fit/gradnoise"
	"knee/internal/grouped"
)

// AddCurve fits convergence and gradient noise scale to training curves, replacing earlier
// ones.
//
// batch.Initial, in samples, is the reference of statistical efficiency; 0: the smallest
// global batch. [Model.Warnings] names what is missing of losses and gradient statistics.
// It fails if the points allow neither fit, or are of another job.
func (m *Model) AddCurve(points []data.CurvePoint, batch data.Batch, s convergence.Settings) error {
	for _, p := range points {
		if p.Job != "" && m.Job() != "" && p.Job != m.Job() {
			return data.Invalid("job", fmt.Sprintf("%q", p.Job), fmt.Sprintf("a curve of job %q, like the measurements", m.Job()))
		}
	}
	if batch.Initial == 0 {
		batch.Initial = SmallestBatch(points)
	}
	points, noise, warnings, noiseErr := Comparable(points, batch.Initial, &s)
	m.file.Warnings = append(m.file.Warnings, warnings...)
	conv, convErr := convergence.Fit(points, batch.Initial, s)
	switch {
	case convErr != nil && noiseErr != nil:
		return fmt.Errorf("training curve: %w", errors.Join(convErr, noiseErr))
	case convErr != nil:
		m.file.Warnings = append(m.file.Warnings, "the training curve gives no convergence: "+convErr.Error())
	case noiseErr != nil:
		m.file.Warnings = append(m.file.Warnings, "the training curve gives no statistical efficiency, taken as 1: "+noiseErr.Error())
	}
	if conv != nil && conv.Pointwise && conv.Planned+float64(len(conv.Milestones)) > 0 {
		m.file.Warnings = append(m.file.Warnings, "training curve: "+NoEpochs)
	}
	m.file.Convergence, m.file.NoiseScale, m.file.Batch = conv, noise, batch
	return nil
}

// NoEpochs says that epochs are a guess; see [convergence.Curve.Pointwise].
const NoEpochs = "it records no epochs, or only one, so that each of its points counts as one; give a column epoch, or --dataset and --initial-batch"

// Comparable returns the points of runs that make one curve, without runs of other
// settings. If the noise scale is known, by gradient statistics or several batches, they
// have the steps that they are worth at the initial batch, in samples, and so have the
// templates in s; if not, the error says why. Points without a run that repeat steps at
// another batch are a run for each.
func Comparable(points []data.CurvePoint, initialBatch float64, s *convergence.Settings) ([]data.CurvePoint, *gradnoise.Scale, []string, error) {
	points = runsByBatch(points)
	batches, of := grouped.By(points, func(p data.CurvePoint) uint64 { return math.Float64bits(p.GlobalBatch) })
	points = nil
	var others []string
	for _, batch := range batches { // runs of one batch differ by settings alone
		kept, left := convergence.Agreeing(of[batch], initialBatch)
		points, others = append(points, kept...), append(others, left...)
	}
	noise, err := gradnoise.Fit(points, initialBatch)
	if err != nil {
		noise, err = gradnoise.FromRuns(points, initialBatch)
	}
	if err == nil {
		points, s.Templates = noise.WithProgress(points, s.Templates)
	}
	var warnings []string
	if n := len(others); n > 0 {
		warnings = []string{fmt.Sprintf("training curve: %s with other losses at the same step (settings such as a learning rate?) are left out, those like the lowest kept: %s; "+
			"give the runs of one setting to fit those", english.Plural(n, "run", ""), strings.Join(others[:min(n, 5)], ", "))}
	}
	return points, noise, warnings, err
}

// runsByBatch names runs by their batch if points without a run have the same steps, or
// epochs, at several batches, as many as half of the points of one: a run that is
// continued at another batch repeats few.
func runsByBatch(points []data.CurvePoint) []data.CurvePoint {
	at, named := map[[2]float64]float64{}, slices.Clone(points)
	of, repeated := map[float64]int{}, 0
	for i, p := range points {
		if p.Run != "" || !(p.GlobalBatch > 0) {
			continue
		}
		x := [2]float64{0, p.Step}
		if math.IsNaN(p.Step) {
			x = [2]float64{1, p.Epoch}
		}
		if batch, known := at[x]; known && batch != p.GlobalBatch {
			repeated++
		}
		at[x] = p.GlobalBatch
		of[p.GlobalBatch]++
		named[i].Run = fmt.Sprintf("batch %g", p.GlobalBatch)
	}
	if len(of) < 2 || 2*repeated < slices.Min(slices.Collect(maps.Values(of))) {
		return points
	}
	return named
}

// SmallestBatch is the smallest global batch of a curve, in samples; 0 if it names none.
func SmallestBatch(points []data.CurvePoint) float64 {
	var small float64
	for _, p := range points {
		if p.GlobalBatch > 0 && !math.IsInf(p.GlobalBatch, 0) && (small == 0 || p.GlobalBatch < small) {
			small = p.GlobalBatch
		}
	}
	return small
}

// ErrNoCurve says that a model has no training curve to predict convergence from.
var ErrNoCurve = errors.New("the model has no training curve; fit it with one to predict when a loss is reached")

// ErrEpochs says that the training curve counts epochs of unknown length, so
// that neither steps nor a time follow from it.
var ErrEpochs = errors.New("the training curve counts epochs, and how many steps an epoch has is unknown: add a column step to the curve, or fit it with --dataset, the samples of an epoch, and --initial-batch")

// ToLoss returns when the curve reaches a target loss, in optimizer steps at the
// initial batch from step 0. It fails with [ErrNoCurve], [ErrEpochs], or with a
// *[convergence.NeverReachedError] if the curve levels off above the target.
func (m *Model) ToLoss(target float64) (convergence.Answer, error) {
	switch c := m.file.Convergence; {
	case c == nil:
		return convergence.Answer{}, ErrNoCurve
	case c.Epochs:
		return convergence.Answer{}, ErrEpochs
	default:
		return c.Target(target)
	}
}
