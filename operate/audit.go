package operate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"knee/operate/queue"
)

// Audit logs commands as JSON lines, each synced to disk before the call returns.
type Audit struct {
	file *os.File
	now  func() time.Time
	turn int
	err  error // of the first failed write of the turn
}

// OpenAudit opens audit.jsonl in a folder for appending.
func OpenAudit(dir string, now func() time.Time) (*Audit, error) {
	f, err := os.OpenFile(filepath.Join(dir, "audit.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Audit{file: f, now: now}, nil
}

// Command logs a command, or its answer. One that could not be logged must not be run.
func (a *Audit) Command(c queue.Command) error {
	a.write(struct {
		At   time.Time `json:"at"`
		Turn int       `json:"turn"`
		queue.Command
	}{a.now().UTC(), a.turn, c})
	return a.err
}

// note logs a proposal or a model.
func (a *Audit) note(kind string, what any) {
	a.write(map[string]any{"at": a.now().UTC(), "turn": a.turn, kind: what})
}

func (a *Audit) write(line any) {
	text, err := json.Marshal(line)
	if err == nil {
		_, err = a.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = a.file.Sync()
	}
	if a.err == nil && err != nil {
		a.err = fmt.Errorf("write the audit log: %w", err)
	}
}

// Close closes the log.
func (a *Audit) Close() error { return a.file.Close() }
