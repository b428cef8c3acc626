package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the knee command, in scripts and in the
// processes that knee itself starts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"knee": main})
}

// TestScripts runs testdata/script: every command as a user would type it,
// which is also the most exact description of what each prints.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			examples, err := filepath.Abs("../../examples")
			e.Setenv("EXAMPLES", examples)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitlines": waitLines,
			"signal":    signalKnee,
			"lines":     countLines,
		},
	})
}

// waitLines waits until a file holds at least n lines with a text:
// waitlines FILE TEXT N.
func waitLines(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	for range 6000 {
		if count(ts.MkAbs(args[0]), args[1]) >= n {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s does not hold %d lines with %q after 5 minutes", args[0], n, args[1])
}

// countLines checks that a file holds exactly n lines with a text:
// lines FILE TEXT N.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	if got := count(ts.MkAbs(args[0]), args[1]); (got == n) == neg {
		ts.Fatalf("%s holds %d lines with %q, want %d", args[0], got, args[1], n)
	}
}

func count(file, text string) int {
	data, _ := os.ReadFile(file)
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasSuffix(line, "\n") && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// signalKnee sends a signal to the knee whose process id a file holds:
// signal NAME FILE.
func signalKnee(ts *testscript.TestScript, neg bool, args []string) {
	waitLines(ts, neg, []string{args[1], "", "1"}) // the shell writes it beside the knee that it starts
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Signal(map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}[args[0]]))
}

// TestDocs runs every command that the documentation shows: the lines of
// fenced blocks marked sh, in order, in one folder per document.
func TestDocs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the documentation's commands are for a Unix shell")
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(docs, "../../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		commands := shellBlocks(string(text))
		if len(commands) == 0 {
			continue
		}
		t.Run(filepath.Base(doc), func(t *testing.T) {
			dir := t.TempDir()
			for _, command := range commands {
				runDocCommand(t, dir, command)
			}
		})
	}
}

// runDocCommand runs one line of documentation. `go run ./cmd/knee` is this
// program; `make` is what runs this test.
func runDocCommand(t *testing.T, dir, command string) {
	t.Helper()
	if strings.HasPrefix(command, "make ") || strings.HasPrefix(command, "go install") || strings.HasPrefix(command, "go build") {
		return
	}
	command = strings.ReplaceAll(command, "go run ./cmd/knee", "knee")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir = dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("$ %s\n%s%v", command, out, err)
	}
	t.Logf("$ %s (%v)", command, time.Since(start).Round(time.Millisecond))
}

// shellBlocks returns the commands of the blocks marked sh, continued lines
// joined and comments left out.
func shellBlocks(doc string) []string {
	var commands []string
	inside, joined := false, ""
	lines := bufio.NewScanner(strings.NewReader(doc))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "```sh":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && strings.HasSuffix(line, `\`):
			joined += strings.TrimSuffix(line, `\`)
		case inside && line != "" && !strings.HasPrefix(line, "#"):
			commands = append(commands, joined+line)
			joined = ""
		}
	}
	return commands
}
