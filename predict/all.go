package predict

import (
	"fmt"

	"knee/data"
)

// RowError is the error of one of many configurations.
type RowError struct {
	Row int // counted from 0
	Err error
}

// Error returns the text of Err alone.
func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// AtAll predicts many configurations, in their order, with the answers of
// [Predictor.At]. It uses all processors and computes shared terms once. It
// fails with a *RowError for a configuration that At refuses, and with the
// error of a goal that is never reached.
func (p *Predictor) AtAll(cs []data.Config) ([]Answer, error) {
	if p.Model == nil {
		return nil, fmt.Errorf("predict: no model")
	}
	if len(cs) == 0 {
		return nil, nil
	}
	resolved := make([]data.Config, len(cs))
	for i, c := range cs {
		var err error
		if resolved[i], err = p.Model.Resolve(c); err != nil {
			return nil, &RowError{i, err}
		}
	}
	preds, err := p.Model.PredictAll(resolved)
	if err != nil {
		return nil, err
	}
	steps, err := p.goalSteps()
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(cs))
	for i, c := range resolved {
		if answers[i], err = p.answer(c, preds[i], steps); err != nil {
			return nil, &RowError{i, err}
		}
	}
	return answers, nil
}
