package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Lines that a batch script prints before and after the command, so that the
// output shows its beginning and end: without accounting, Slurm drops a job
// some minutes after its end.
const (
	markBegin = "knee: trial begins"
	markEnd   = "knee: trial ends with exit status "
)

// tail reads the growing output file of a trial that runs elsewhere.
type tail struct {
	path   string
	out    output
	offset int64
	lines  lines
	label  bool // each line of a rank begins with its number, as srun --label writes it

	begun int    // how many times the script has begun
	ended bool   // whether the end line was read
	exit  int    // exit status in the end line
	task  string // srun's message about the first failed task
}

// srunTask matches srun's message about failed tasks. The first one names the
// cause; later ones name tasks that srun killed.
var srunTask = regexp.MustCompile(`^srun: error: (\S+: tasks? [0-9,-]+: .*)$`)

// slurmChatter matches lines that Slurm prints, not the trainer.
var slurmChatter = regexp.MustCompile(`^(?:srun|slurmstepd[-\w]*): `)

// read reads what was appended since the last call. The file is opened each
// time, since NFS fetches other machines' writes on open. A missing file counts
// as empty. Errors are those of reading, and of an observation that cannot be
// parsed.
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

func (t *tail) take(ctx context.Context, text []byte) error {
	now := time.Now()
	t.lines.split(text, func(line string) { t.line(now, line) })
	t.out.flush(ctx)
	return t.out.heard.unread()
}

func (t *tail) line(at time.Time, line string) {
	switch {
	case strings.HasPrefix(line, markBegin):
		t.begun++
		return
	case strings.HasPrefix(line, markEnd):
		if code, err := strconv.Atoi(line[len(markEnd):]); err == nil {
			t.ended, t.exit = true, code
		}
		return
	}
	t.out.rank = UnknownRank
	if t.label {
		t.out.rank, line = cutLabel(line)
	}
	if m := srunTask.FindStringSubmatch(line); m != nil && t.task == "" {
		t.task = m[1]
	}
	last := t.out.last
	if t.out.line(at, line); slurmChatter.MatchString(line) {
		t.out.last = last // the trainer's line says more
	}
}

// cutLabel removes the task's number from a line such as " 3: loss 2.1".
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
