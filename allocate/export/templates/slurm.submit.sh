#!/bin/bash
# knee: carries out the plan. Tasks get SIGTERM first, to write a checkpoint.
set -euo pipefail
cd "$(dirname "$0")"
unset "${!SQUEUE_@}" "${!SCANCEL_@}" # settings of the user that hide jobs

failed=0 shrunk=

queued() { squeue --noheader --user="$(id -un)" --name="$1" --states=PENDING,RUNNING,SUSPENDED,COMPLETING --format="$2" | sort -u; }
jobs_of() { queued "$1" %A; }

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

# start NAME submits its script, whose digest is in the comment of the job, unless
# a job of that name is in the queue, as when this script is run again.
start() {
  local comment
  comment=$(sed -n 's/^#SBATCH --comment=//p' "$1.sbatch")
  comment=${comment:-knee}:$(sha256sum <"$1.sbatch" | cut -c-12)
  if [[ " $shrunk " == *" $1 "* ]]; then
    return # it goes on in place
  elif [ -z "$(jobs_of "$1")" ]; then
    sbatch --parsable --comment="$comment" "$1.sbatch"
  elif [ "$(queued "$1" %k)" = "$comment" ]; then
    echo "job $1 is in the queue and is not submitted again" >&2
  else
    echo "job $1 in the queue is of another plan: cancel it, or wait until it ends, and run this again" >&2
    failed=1
  fi
}

# shrink NAME GRES NODES takes all other nodes away from the running job, whose
# script then goes on as NAME.sbatch. It fails if the job cannot shrink so.
shrink() {
  local id node has
  id=$(jobs_of "$1")
  [[ $id =~ ^[0-9]+$ ]] || return 1
  [[ "$(squeue --noheader --jobs="$id" --states=RUNNING --format=%k)" == knee:resizable* ]] || return 1
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
  shrunk+=" $1"
}

{{range .}}
{{- if .Paused -}}
stop {{.ID}} # {{.Action}}: {{comment .Reason}}
{{else if .ShrinksInPlace}}{{$g := index .Components 0 -}}
shrink {{.ID}} {{.GRES $g.Workers}} {{join $g.Nodes}} || stop {{.ID}}
{{else if .Changed -}}
stop {{.ID}} # {{.Action}}
{{else if .Kept -}}
# {{.ID}} is kept as it runs
{{end}}
{{- end}}
{{- range .}}
{{- if not (or .Paused .Kept) -}}
start {{.ID}}
{{end}}
{{- end -}}
exit $failed
