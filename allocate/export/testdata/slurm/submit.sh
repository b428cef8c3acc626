#!/bin/bash
# knee: carries out the plan. Jobs get SIGTERM first, to write a checkpoint.
set -euo pipefail
cd "$(dirname "$0")"

running() { squeue --noheader --user="$(id -un)" --name="$1" --states=PENDING,RUNNING,SUSPENDED,COMPLETING --format=%A | sort -u; }

# stop NAME cancels the user's jobs of that name and waits until they are gone.
stop() {
  local id
  for id in $(running "$1"); do
    scancel --signal=TERM --full "$id" || true
  done
  for id in $(running "$1"); do
    scancel "$id" || true
  done
  for _ in $(seq 150); do
    [ -z "$(running "$1")" ] && return 0
    sleep 2
  done
  echo "job $1 did not stop within 5 minutes" >&2
  return 1
}

stop resnet50-imagenet # grow
# single is kept as it runs
stop paused-name # paused: waits for room
stop word2vec # move
sbatch --parsable resnet50-imagenet.sbatch
sbatch --parsable bert.sbatch
sbatch --parsable word2vec.sbatch
