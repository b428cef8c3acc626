package export

import (
	"fmt"
	"strings"

	"knee/data"
)

// resizable is the comment of Slurm jobs whose script can continue on fewer nodes.
const resizable = "knee:resizable"

// shrinks reports whether the job can give nodes back while it runs: it has GPU
// workers, equally many on each node, and no parameter servers.
func (t task) shrinks(gs []group) bool { return len(gs) == 1 && !gs[0].servers && t.gpu() }

// slurmStep runs the tasks of a job that may shrink. The environment of the script has
// the sizes of the first allocation, which srun would take.
func slurmStep(t task, g group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nunset SLURM_NTASKS SLURM_NPROCS SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE SLURM_NNODES SLURM_NODELIST\n")
	fmt.Fprintf(&b, "unset SLURM_JOB_NUM_NODES SLURM_JOB_NODELIST SLURM_JOB_CPUS_PER_NODE\n")
	b.WriteString(slurmResize)
	fmt.Fprintf(&b, "srun --kill-on-bad-exit=1 --nodes=%d --ntasks=%d --ntasks-per-node=%d --nodelist=%s %s\"${run[@]}\" &\n",
		len(g.nodes), g.tasks(), g.perNode, strings.Join(g.nodes, ","), perTask(t, g))
	fmt.Fprintf(&b, "step=$! had=%d code=0\n", len(g.nodes))
	b.WriteString(slurmWait)
	return b.String()
}

const slurmResize = `
# A plan that takes nodes away names its script in the comment of the job and
# sends SIGUSR1. SIGTERM is for the tasks; the script waits for them.
resize=
trap 'resize=1' USR1
trap : TERM

`

const slurmWait = `while :; do
  wait $step && code=0 || code=$?
  if [ -n "$resize" ]; then break; fi
  kill -0 $step 2>/dev/null || exit $code
done
scancel --signal=TERM "$SLURM_JOB_ID" || true
for _ in $(seq 60); do
  kill -0 $step 2>/dev/null || break
  sleep 1
done
kill $step 2>/dev/null || true
wait $step || true
for _ in $(seq 300); do
  if [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%D)" != "$had" ]; then
    exec bash "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%k)"
  fi
  sleep 1
done
echo "the nodes were not taken away within 5 minutes" >&2
exit 1
`

// slurmSubmit is the script that applies the plan.
func slurmSubmit(ts []task) string {
	var b strings.Builder
	b.WriteString(slurmHead)
	for _, t := range ts {
		switch {
		case t.paused():
			fmt.Fprintf(&b, "stop %s # paused: %s\n", t.ID, comment(t.Reason))
		case t.Action == data.Shrink && t.shrinks(groups(t)):
			g := groups(t)[0]
			fmt.Fprintf(&b, "shrink %s gpu:%s:%d %s || stop %s\n", t.ID, t.gpuName(), g.perNode, strings.Join(g.nodes, ","), t.ID)
		case t.changed():
			fmt.Fprintf(&b, "stop %s # %s\n", t.ID, t.Action)
		case t.Action == data.Keep:
			fmt.Fprintf(&b, "# %s is kept as it runs\n", t.ID)
		}
	}
	for _, t := range ts {
		switch {
		case t.paused() || t.Action == data.Keep:
		case t.Action == data.Shrink && t.shrinks(groups(t)):
			fmt.Fprintf(&b, "[ -n \"$(jobs_of %s)\" ] || sbatch --parsable %s.sbatch\n", t.ID, t.ID)
		default:
			fmt.Fprintf(&b, "sbatch --parsable %s.sbatch\n", t.ID)
		}
	}
	return b.String()
}

const slurmHead = `#!/bin/bash
# knee: carries out the plan. Tasks get SIGTERM first, to write a checkpoint.
set -euo pipefail
cd "$(dirname "$0")"

jobs_of() { squeue --noheader --user="$(id -un)" --name="$1" --states=PENDING,RUNNING,SUSPENDED,COMPLETING --format=%A | sort -u; }

# within SECONDS COMMAND...: waits until the command succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 1
  done
}
gone() { [ -z "$(jobs_of "$1")" ]; }
idle() { ! squeue --noheader --steps --jobs="$1" --format=%i | grep -q '\.[0-9]'; }

# stop NAME ends the user's jobs of that name: the tasks have a minute to end
# by themselves, then the job is cancelled; it is gone when this returns.
stop() {
  local id waits=
  for id in $(jobs_of "$1"); do
    scancel --signal=TERM "$id" 2>/dev/null && waits=1 || true
  done
  [ -z "$waits" ] || within "${CHECKPOINT_SECONDS:-60}" gone "$1" || true
  for id in $(jobs_of "$1"); do
    scancel "$id" || true
  done
  within 300 gone "$1" || { echo "job $1 did not stop within 5 minutes" >&2; return 1; }
}

# shrink NAME GRES NODES takes all other nodes away from the running job, whose
# script then goes on as NAME.sbatch. It fails if the job cannot shrink so.
shrink() {
  local id node has
  id=$(jobs_of "$1")
  [[ $id =~ ^[0-9]+$ ]] || return 1
  [ "$(squeue --noheader --jobs="$id" --states=RUNNING --format=%k)" = ` + resizable + ` ] || return 1
  [[ $(squeue --noheader --jobs="$id" --format=%b) == *"$2" ]] || return 1
  has=,$(scontrol show hostnames "$(squeue --noheader --jobs="$id" --format=%N)" | paste -sd,),
  for node in ${3//,/ }; do
    [[ $has == *",$node,"* ]] || return 1
  done
  [[ ,$3, == *",$(squeue --noheader --jobs="$id" --format=%B),"* ]] || return 1
  scontrol update "jobid=$id" "comment=$PWD/$1.sbatch" || return 1
  scancel --batch --signal=USR1 "$id" || return 1
  within 90 idle "$id" || return 1
  scontrol update "jobid=$id" "nodelist=$3" >/dev/null || return 1
  rm -f "slurm_job_${id}_resize.sh" "slurm_job_${id}_resize.csh"
}

`
