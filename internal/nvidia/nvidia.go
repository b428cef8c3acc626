// Package nvidia reads the GPUs of this machine from nvidia-smi, which needs no
// cgo.
package nvidia

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// command is the program that the driver installs.
const command = "nvidia-smi"

// GPU is one GPU as nvidia-smi lists it.
type GPU struct {
	Index       int
	UUID        string
	Name        string  // the product's name, "NVIDIA A100-SXM4-80GB"
	Memory      int64   // bytes; 0 if the driver does not report it
	Used        int64   // bytes used by all processes
	Utilization float64 // per cent of the last sampling period with a kernel running; −1 if the driver does not report it
}

// columns are the queried properties, see `nvidia-smi --help-query-gpu`.
const columns = "index,uuid,name,memory.total,memory.used,utilization.gpu"

// query is the arguments for a table in MiB and per cent, without header and
// units.
func query() []string { return []string{"--query-gpu=" + columns, "--format=csv,noheader,nounits"} }

// Absent reports whether the error of [List] means that there is no nvidia-smi.
func Absent(err error) bool { return errors.Is(err, exec.ErrNotFound) }

// List returns the GPUs of this machine. Errors: nvidia-smi is not installed
// (see [Absent]), fails, does not end within 30 s, finds no GPU, or prints another
// table.
func List(ctx context.Context) ([]GPU, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // with a faulty GPU it can hang
	defer cancel()
	path, err := exec.LookPath(command)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed, which comes with the driver of NVIDIA GPUs: %w", command, err)
	}
	cmd := exec.CommandContext(ctx, path, query()...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", command, err, lastWords(out, err))
	}
	gpus, err := Parse(strings.NewReader(string(out)))
	if err == nil && len(gpus) == 0 {
		err = errors.New("it lists no GPU")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return gpus, nil
}

// lastWords returns what a failed nvidia-smi printed, on standard output.
func lastWords(out []byte, err error) string {
	text := strings.Join(strings.Fields(string(out)), " ")
	var exit *exec.ExitError
	if text == "" && errors.As(err, &exit) {
		text = strings.Join(strings.Fields(string(exit.Stderr)), " ")
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// Parse reads the table that nvidia-smi prints for the columns index, uuid,
// name, memory.total, memory.used and utilization.gpu, without header and
// units. The error names the line, what was found and what was wanted.
func Parse(r io.Reader) ([]GPU, error) {
	table := csv.NewReader(r)
	table.TrimLeadingSpace = true
	table.FieldsPerRecord = -1
	var gpus []GPU
	for line := 1; ; line++ {
		row, err := table.Read()
		if err == io.EOF {
			return gpus, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		g, err := parseRow(row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		gpus = append(gpus, g)
	}
}

func parseRow(row []string) (GPU, error) {
	if len(row) != strings.Count(columns, ",")+1 {
		return GPU{}, fmt.Errorf("found %.120q, want the columns %s", strings.Join(row, ", "), columns)
	}
	index, err := strconv.Atoi(row[0])
	if err != nil || index < 0 {
		return GPU{}, fmt.Errorf("found %.40q, want the index of a GPU", row[0])
	}
	if row[2] == "" {
		return GPU{}, errors.New("found no name of a GPU")
	}
	// Memory sizes are far below 2⁴⁰ MiB; the limit keeps bytes in an int64.
	number := func(text, want string, most, absent float64) float64 {
		if strings.HasPrefix(text, "[") { // "[N/A]", as of a MIG slice
			return absent
		}
		v, bad := strconv.ParseFloat(text, 64)
		if bad != nil || !(v >= 0 && v <= most) {
			err = cmp.Or(err, fmt.Errorf("found %.40q, want %s", text, want))
		}
		return v
	}
	g := GPU{Index: index, UUID: row[1], Name: row[2],
		Memory:      int64(number(row[3], "memory in MiB", 1<<40, 0)) << 20,
		Used:        int64(number(row[4], "memory in MiB", 1<<40, 0)) << 20,
		Utilization: number(row[5], "a utilisation in per cent", 100, -1)}
	return g, err
}
