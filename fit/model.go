package fit

import "knee/data"

// Goal is what the training must still reach.
type Settings struct {
	Family string // "auto" (default) or a registered name
	Seed   int64
}

type Prediction struct {
	StepTime     data.Estimate // seconds per optimizer step
	Extrapolated bool
	Support      int    // measurements of the same GPU type and mode behind it
	Why          string // what is outside the measured range, if Extrapolated
}

// Model is the contents of model.json.
type Model struct{}

func Fit(ms []data.Measurement, s Settings) (*Model, error) { panic("contract") }

func (m *Model) Predict(c data.Config) (Prediction, error) { panic("contract") }

// Efficiency returns statistical efficiency (0..1] at a global batch relative to the initial batch; 1 if unknown.
func (m *Model) Efficiency(globalBatch float64) data.Estimate { panic("contract") }

// StepsToLoss returns optimizer steps at the initial batch from step 0 to a target loss.
func (m *Model) StepsToLoss(target float64) (data.Estimate, error) { panic("contract") }

// Combos: what (gpu type, mode) pairs were measured.
func (m *Model) GPUTypes() []string               { panic("contract") }
func (m *Model) Modes(gpuType string) []data.Mode { panic("contract") }

func ReadModel(path string) (*Model, error)  { panic("contract") }
func WriteModel(path string, m *Model) error { panic("contract") }
