package trainer

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"knee/data"
)

// checkpoint is the state from which a job continues, written and read by rank 0.
type checkpoint struct {
	Step   int64 // the last complete one
	Params []float64
}

const between = time.Second

// readCheckpoint fills params and returns their step, 0 if there is no file yet.
func readCheckpoint(path string, params []float64) (step int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var c checkpoint
	if err := gob.NewDecoder(f).Decode(&c); err != nil {
		return 0, &data.InputError{Source: data.Source{File: path}, Found: err.Error(), Want: "a checkpoint of knee train"}
	}
	if len(c.Params) != len(params) || c.Step < 0 {
		return 0, &data.InputError{Source: data.Source{File: path}, Found: fmt.Sprintf("%d parameters at step %d", len(c.Params), c.Step), Want: fmt.Sprintf("the %d parameters of this model", len(params))}
	}
	copy(params, c.Params)
	return c.Step, nil
}

// writeCheckpoint replaces the file by renaming: no crash leaves half of one.
func writeCheckpoint(path string, step int64, params []float64) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	err = errors.Join(gob.NewEncoder(f).Encode(checkpoint{step, params}), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	return nil
}
