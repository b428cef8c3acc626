#!/bin/sh
# knee: job single, 1 worker on 1 node. Usage: single.torchrun.sh [node]
set -eu
export KNEE_ACCUM_STEPS=0
export KNEE_CP=1
export KNEE_DP=1
export KNEE_EP=1
export KNEE_GLOBAL_BATCH=85
export KNEE_GPU_TYPE=cpu
export KNEE_JOB=single
export KNEE_LOCAL_BATCH=85
export KNEE_MODE=allreduce
export KNEE_NODES=1
export KNEE_OFFLOAD=none
export KNEE_PP=1
export KNEE_PS=0
export KNEE_RECOMPUTE=none
export KNEE_SHARDING=none
export KNEE_TP=1
export KNEE_WORKERS=1
case "${1:-$(hostname -s)}" in
"t03")
  exec torchrun --nnodes=1 --nproc-per-node=1 --node-rank=0 --master-addr=t03 --master-port="${MASTER_PORT:-29617}" --module train ;;
*)
  echo "no worker of single stands on ${1:-this node}" >&2; exit 1 ;;
esac
