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
	out    output
	offset int64
	lines  lines
	label  bool // each line of a rank begins with its number, as srun --label writes it

	begun int    // how often the script has begun
	ended bool   // whether the script has said how it ended
	exit  int    // and how
	task  string // what srun said of the first task that ended badly
}

// srunTask matches what srun says when tasks of a step end badly. The first
// time it names the culprit; later ones are those that srun itself ended.
var srunTask = regexp.MustCompile(`^srun: error: (\S+: tasks? [0-9,-]+: .*)$`)

// slurmChatter matches lines of Slurm that say nothing of the trainer.
var slurmChatter = regexp.MustCompile(`^(?:srun|slurmstepd[-\w]*): `)

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

func (t *tail) take(ctx context.Context, text []byte) error {
	now := time.Now()
	_ = t.lines.split(text, func(line string) error { t.line(now, line); return nil })
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
		t.out.last = last // the words of the trainer say more
	}
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
