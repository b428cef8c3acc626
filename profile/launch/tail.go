package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What a batch script prints around the command, so that its beginning and
// end are known from the output alone: without accounting, Slurm forgets a
// job some minutes after its end.
const (
	markBegin = "knee: trial begins"
	markEnd   = "knee: trial ends with exit status "
)

// tail reads the growing output file of a trial that runs elsewhere.
type tail struct {
	path   string
	parser Parser
	obs    chan<- Observation
	offset int64
	lines  lines
	label  bool // each line of a rank begins with its number, as srun --label writes it

	begun int    // how often the script has begun
	ended bool   // whether the script has said how it ended
	exit  int    // and how
	seen  bool   // whether any observation was made
	task  string // what srun said of the first task that ended badly
	last  string // last line that was no observation, nor of Slurm's own
	oom   string // first line that speaks of memory
}

// srunTask matches what srun says when tasks of a step end badly. The first
// time it names the culprit; later ones are those that srun itself ended.
var srunTask = regexp.MustCompile(`^srun: error: (\S+: tasks? [0-9,-]+: .*)$`)

// slurmChatter matches lines of Slurm that say nothing of the trainer.
var slurmChatter = regexp.MustCompile(`^(?:srun|slurmstepd[-\w]*): `)

func newTail(path string, p Parser, obs chan<- Observation) *tail {
	return &tail{path: path, parser: p, obs: obs}
}

func (t *tail) close() { t.lines = lines{} }

// read takes in what was appended since the last call. The file is opened
// each time: that is when NFS looks for what other machines have written. A
// file that is not there yet is empty. The error is that of a line which was
// meant to be an observation and cannot be read.
func (t *tail) read(ctx context.Context) error {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the output of the trial: %w", err)
	}
	defer f.Close()
	chunk := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := f.ReadAt(chunk, t.offset)
		t.offset += int64(n)
		if err := t.take(ctx, chunk[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of the trial: %w", err)
		}
	}
	return nil
}

// take splits text into lines and sends what they hold.
func (t *tail) take(ctx context.Context, text []byte) error {
	now := time.Now()
	var batch []Observation
	err := t.lines.split(text, func(line string) error {
		o, ok, err := t.line(line)
		if ok {
			o.At = now
			batch = append(batch, o)
		}
		return err
	})
	if err != nil {
		return err
	}
	return t.send(ctx, batch)
}

// line takes in one line.
func (t *tail) line(line string) (Observation, bool, error) {
	switch {
	case strings.HasPrefix(line, markBegin):
		t.begun++
		return Observation{}, false, nil
	case strings.HasPrefix(line, markEnd):
		if code, err := strconv.Atoi(line[len(markEnd):]); err == nil {
			t.ended, t.exit = true, code
		}
		return Observation{}, false, nil
	}
	rank := UnknownRank
	if t.label {
		rank, line = cutLabel(line)
	}
	o, ok, err := t.parser.Parse(line)
	if o.Rank == UnknownRank {
		o.Rank = rank
	}
	if err != nil || ok && !o.OfMemory() {
		t.seen = t.seen || ok
		return o, ok, err
	}
	if m := srunTask.FindStringSubmatch(line); m != nil && t.task == "" {
		t.task = m[1]
	}
	if !slurmChatter.MatchString(line) {
		t.last = line
	}
	if t.oom == "" && speaksOfMemory(line) {
		t.oom = line
	}
	return o, ok, nil
}

// cutLabel takes the number of the task off a line, " 3: loss 2.1".
func cutLabel(line string) (rank int, rest string) {
	number, rest, found := strings.Cut(strings.TrimLeft(line, " "), ": ")
	if !found {
		number, rest = strings.TrimSuffix(number, ":"), ""
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return UnknownRank, line
	}
	return n, rest
}

// send passes on what was seen together. A step that tells no time is timed
// by when it was seen; of several of a rank seen at once only the last says
// something. A loss without a step is no step.
func (t *tail) send(ctx context.Context, batch []Observation) error {
	last := map[int]int{} // by rank
	for i, o := range batch {
		last[o.Rank] = i
	}
	for i, o := range batch {
		timed := o.StepTime > 0 || o.Throughput > 0
		if !timed && !math.IsNaN(o.Step) && i < last[o.Rank] {
			continue
		}
		select {
		case t.obs <- o:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
