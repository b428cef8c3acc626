package launch

import (
	"bytes"
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
	"sync"
	"time"

	"knee/data"
)

type heard struct {
	parser Parser // for this trial
	obs    chan<- Observation

	mu     sync.Mutex
	firsts Firsts
	seen   bool            // a step was seen
	head   strings.Builder // the first lines until then
	bad    error           // the first line that could not be read
}

func newHeard(p Parser, t Trial, obs chan<- Observation) *heard {
	return &heard{parser: ParserFor(p, t.Config), obs: obs, firsts: Firsts{Workers: t.Config.Workers}}
}

func (h *heard) unread() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bad
}

// verdict is the failure of a trial that ended well: an unreadable line, or no step.
func (h *heard) verdict(last string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.bad != nil:
		return &Failure{Status: data.Failed, Detail: h.bad.Error()}
	case !h.seen:
		return &Failure{Status: data.Failed, Detail: "it ended without reporting a step, want " + h.parser.Wants() + hint(h.head.String()) + said("; its last words: ", last)}
	}
	return nil
}

// instead returns what was printed in place of steps, empty if there were any.
func (h *heard) instead(last string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen {
		return ""
	}
	return hint(h.head.String()) + said("; its last words: ", last)
}

type output struct {
	heard *heard
	name  string // "worker 0"
	rank  int    // for lines without a rank; may be UnknownRank

	last string  // last line that was no observation
	oom  string  // first out-of-memory line; empty if two steps came after
	step float64 // the largest counter
	more int     // steps since oom
	kept []Observation
}

// line parses a line printed at a time, for the next flush.
func (p *output) line(at time.Time, line string) {
	h := p.heard
	o, ok, err := h.parser.Parse(line)
	if o.Rank == UnknownRank {
		o.Rank = p.rank
	}
	h.mu.Lock()
	o, ok, err = h.firsts.Excuse(o, ok, err)
	if h.seen = h.seen || ok && o.OfStep(); h.seen {
		h.head.Reset()
	} else if h.head.Len()+len(line) < HeadBytes {
		h.head.WriteString(line + "\n")
	}
	if err != nil && h.bad == nil {
		h.bad = errors.New(p.name + " printed a line that cannot be read: " + err.Error())
	}
	h.mu.Unlock()
	if !ok || !o.OfStep() {
		p.last = line
		if p.oom == "" && o.OutOfMemory != "" {
			p.oom, p.more = line, 0
		}
	} else if o.Step > p.step { // not of another rank, nor NaN
		if p.step, p.more = o.Step, p.more+1; p.more > 1 {
			p.oom = ""
		}
	}
	if !ok {
		return
	}
	o.At = at
	p.kept = append(p.kept, o)
}

// flush sends the observations of lines read together, of which more may follow. A step without
// a time is timed by its arrival: of several of one rank only the last is sent.
func (p *output) flush(ctx context.Context, more bool) {
	untimed := func(o Observation) bool { return !(o.StepTime > 0 || o.Throughput > 0 || math.IsNaN(o.Step)) }
	last := map[int]int{} // by rank
	for i, o := range p.kept {
		if untimed(o) {
			last[o.Rank] = i
		}
	}
	later := p.kept[:0]
	for i, o := range p.kept {
		switch of := untimed(o); {
		case of && i < last[o.Rank]:
			continue
		case of && more:
			later = append(later, o)
			continue
		}
		select {
		case p.heard.obs <- o:
		case <-ctx.Done():
		}
	}
	p.kept = later
}

// maxLine bounds what is kept of one line of output; the rest is dropped.
const maxLine = 64 << 10

// lines cuts output into lines, also at \r: a progress bar may send no line feed.
type lines struct {
	part []byte // the beginning of an unfinished line
}

// split calls each with every line that text completes; empty ones are left out.
func (l *lines) split(text []byte, each func(line string)) {
	for len(text) > 0 {
		part, rest, ended := bytes.Cut(text, []byte{'\n'})
		for drawn, next, more := bytes.Cut(part, []byte{'\r'}); more; drawn, next, more = bytes.Cut(part, []byte{'\r'}) {
			l.keep(drawn)
			l.end(each)
			part = next
		}
		l.keep(part)
		if text = rest; ended {
			l.end(each)
		}
	}
}

func (l *lines) end(each func(line string)) {
	line := string(l.part)
	l.part = l.part[:0]
	if line != "" {
		each(line)
	}
}

func (l *lines) keep(text []byte) {
	if room := maxLine - len(l.part); room > 0 {
		l.part = append(l.part, text[:min(room, len(text))]...)
	}
}

// Lines that a batch script prints before and after the command: without accounting, Slurm
// drops a job some minutes after its end.
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

// srunTask matches srun's messages: the first names the cause, later ones what it killed.
var srunTask = regexp.MustCompile(`^srun: error: (\S+: tasks? [0-9,-]+: .*)$`)

// slurmChatter matches lines that Slurm prints, not the trainer.
var slurmChatter = regexp.MustCompile(`^(?:srun|slurmstepd[-\w]*): `)

// read reads what was appended since the last call. The file is opened each time, as NFS
// needs; a missing one is empty. Errors are of reading, or of an unreadable observation.
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
		if err := t.take(ctx, chunk[:n], err == nil); err != nil {
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

func (t *tail) take(ctx context.Context, text []byte, more bool) error {
	now := time.Now()
	t.lines.split(text, func(line string) { t.line(now, line) })
	t.out.flush(ctx, more)
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
