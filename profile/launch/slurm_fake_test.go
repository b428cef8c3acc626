//go:build unix

package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeSlurm is a Slurm of shell scripts on PATH: it runs each batch script at
// once as a process of this machine and keeps the queue in files, which tests
// change to make things go wrong. ID.state holds the state of a job, ID.reason
// why it waits, ID.pid the leader of its process group.
//
// The files that make it misbehave: down (no controller answers), lost (the
// next submission is taken, but its answer is lost), refuse (sbatch refuses
// with this text), hold (new jobs wait), forget (ended jobs are not known).
type fakeSlurm struct {
	t   *testing.T
	dir string
}

const fakeCommon = `#!/bin/bash
cd "$FAKE_SLURM" || exit 1
if [ -e down ]; then echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1; fi
`

var fakeCommands = map[string]string{
	"sbatch": `
if [ -e refuse ]; then echo "sbatch: error: Batch job submission failed: $(cat refuse)" >&2; exit 1; fi
script=${!#}
id=$(($(ls | grep -c '\.name$') + 1))
sed -n 's/^#SBATCH --job-name=//p' "$script" >$id.name
out=$(sed -n 's/^#SBATCH --output=//p' "$script")
echo None >$id.reason
echo PENDING >$id.state
cat >$id.run <<END
while [ -e hold ] || [ -e hold.$id ]; do sleep 0.02; done
[ "\$(cat $id.state)" = PENDING ] || exit 0
echo RUNNING >$id.new && mv $id.new $id.state
SLURM_JOB_ID=$id SLURM_JOB_NODELIST=n1 bash "$script" >>"$out" 2>&1
code=\$?
echo \$code >$id.exit
[ "\$(cat $id.state)" = RUNNING ] && { [ \$code = 0 ] && echo COMPLETED || echo FAILED; } >$id.new && mv $id.new $id.state
END
setsid bash $id.run </dev/null >/dev/null 2>&1 &
echo $! >$id.pid
if [ -e lost ]; then rm lost; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1; fi
echo $id
`,
	"squeue": `
for a in "$@"; do case $a in
  --jobs=*)
    found=1
    for id in $(tr , ' ' <<<"${a#--jobs=}"); do
      [ -e $id.state ] || continue
      state=$(cat $id.state)
      case $state in PENDING|RUNNING|COMPLETING) ;; *) [ -e forget ] && continue ;; esac
      echo "$id|$state|$(cat $id.reason)"; found=0
    done
    [ $found = 0 ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; } ;;
  --name=*)
    for f in *.name; do
      id=${f%.name}
      [ "$(cat $f)" = "${a#--name=}" ] && case $(cat $id.state) in PENDING|RUNNING) echo $id ;; esac
    done ;;
esac; done
exit 0
`,
	"scontrol": `
case "$1 $2" in
  "show hostnames") echo n1 ;;
  "show job")
    id=${!#}
    if [ -e forget ] || [ ! -e $id.state ]; then echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; fi
    echo "JobId=$id JobState=$(cat $id.state) Reason=None ExitCode=$(cat $id.exit 2>/dev/null || echo 0):0" ;;
esac
`,
	"scancel": `
echo "$1" >>cancelled
cancelled() { echo CANCELLED >$1.end && mv $1.end $1.state; }
cancelled $1
kill -9 -- -$(cat $1.pid) 2>/dev/null
cancelled $1 # it may have been starting
exit 0
`,
	"sacct": `echo "sacct: error: Slurm accounting storage is disabled" >&2; exit 1`,
	"srun": `
cd "$OLDPWD"
while [[ $1 == --* ]]; do shift; done
SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 exec "$@"
`,
}

// newFakeSlurm puts the scripts on PATH for the rest of the test.
func newFakeSlurm(t *testing.T) *fakeSlurm {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	f := &fakeSlurm{t: t, dir: t.TempDir()}
	bin := t.TempDir()
	// A process that another goroutine starts meanwhile would hold a command open
	// for writing, and so keep it from being run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for name, body := range fakeCommands {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(fakeCommon+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("FAKE_SLURM", f.dir)
	t.Cleanup(f.killAll)
	return f
}

func (f *fakeSlurm) path(name string) string { return filepath.Join(f.dir, name) }

// set writes a file of the state, at once.
func (f *fakeSlurm) set(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name+".tmp"), []byte(text+"\n"), 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path(name+".tmp"), f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeSlurm) unset(name string) { os.Remove(f.path(name)) }

// get returns a file of the state, empty if there is none.
func (f *fakeSlurm) get(name string) string {
	text, _ := os.ReadFile(f.path(name))
	return strings.TrimSpace(string(text))
}

// jobs returns how many jobs were ever submitted.
func (f *fakeSlurm) jobs() int {
	names, _ := filepath.Glob(f.path("*.name"))
	return len(names)
}

// kill ends the processes of a job, and sets its state.
func (f *fakeSlurm) kill(id, state string) {
	f.set(id+".state", state)
	if pid, err := strconv.Atoi(f.get(id + ".pid")); err == nil {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// alive reports whether a process of a job is left. Zombies do not count.
func (f *fakeSlurm) alive(id string) bool {
	for range 3000 {
		states, _ := exec.Command("ps", "-o", "stat=", "-g", f.get(id+".pid")).Output() // fails if there is none
		if strings.Trim(string(states), "Zs+<Nl \n") == "" {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

func (f *fakeSlurm) killAll() {
	for id := 1; id <= f.jobs(); id++ {
		f.kill(strconv.Itoa(id), "CANCELLED")
	}
}

// waitState waits until a job is in a state.
func (f *fakeSlurm) waitState(id, state string) {
	f.t.Helper()
	for range 6000 {
		if f.get(id+".state") == state {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("job %s is %q after a minute, want %s", id, f.get(id+".state"), state)
}
