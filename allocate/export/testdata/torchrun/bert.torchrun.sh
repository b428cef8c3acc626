#!/bin/sh
# knee: job bert, 5 workers on 3 nodes. Usage: bert.torchrun.sh [node]
set -eu
export KNEE_ACCUM_STEPS=1
export KNEE_CP=1
export KNEE_DP=5
export KNEE_EP=1
export KNEE_GLOBAL_BATCH=120
export KNEE_GPU_TYPE=t4
export KNEE_JOB=bert
export KNEE_LOCAL_BATCH=12
export KNEE_MODE=allreduce
export KNEE_NODES=3
export KNEE_OFFLOAD=none
export KNEE_PP=1
export KNEE_PS=0
export KNEE_RECOMPUTE=none
export KNEE_SHARDING=none
export KNEE_TP=1
export KNEE_WORKERS=5
case "${1:-$(hostname -s)}" in
"t01")
  exec torchrun --nnodes=3 --nproc-per-node=2 --node-rank=0 --master-addr=t01 --master-port="${MASTER_PORT:-30858}" --no-python torch-wrapper run ;;
"t02")
  exec torchrun --nnodes=3 --nproc-per-node=2 --node-rank=1 --master-addr=t01 --master-port="${MASTER_PORT:-30858}" --no-python torch-wrapper run ;;
"t03")
  export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}" # other jobs have the others
  exec torchrun --nnodes=3 --nproc-per-node=1 --node-rank=2 --master-addr=t01 --master-port="${MASTER_PORT:-30858}" --no-python torch-wrapper run ;;
*)
  echo "no worker of bert stands on ${1:-this node}" >&2; exit 1 ;;
esac
