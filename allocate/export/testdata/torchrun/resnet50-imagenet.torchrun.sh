#!/bin/sh
# knee: job ResNet50 / ImageNet, 8 workers on 2 nodes. Usage: resnet50-imagenet.torchrun.sh [node]
set -eu
export A=1
export NOTE='a'\''b"c $(HOME)
next'
export KNEE_ACCUM_STEPS=0
export KNEE_CP=1
export KNEE_DP=8
export KNEE_EP=1
export KNEE_GLOBAL_BATCH=1024
export KNEE_GPU_TYPE=a100
export KNEE_JOB='ResNet50 / ImageNet'
export KNEE_LOCAL_BATCH=128
export KNEE_MODE=allreduce
export KNEE_NODES=2
export KNEE_OFFLOAD=none
export KNEE_PP=1
export KNEE_PS=0
export KNEE_RECOMPUTE=none
export KNEE_SHARDING=none
export KNEE_TP=1
export KNEE_WORKERS=8
case "${1:-$(hostname -s)}" in
"a01")
  exec torchrun --nnodes=1:4 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=a01:"${MASTER_PORT:-31515}" --rdzv-id=resnet50-imagenet --max-restarts=100 train.py '--note=it'\''s $HOME; `x` $(y)' --data '/mnt/my data' ;;
"a02")
  exec torchrun --nnodes=1:4 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=a01:"${MASTER_PORT:-31515}" --rdzv-id=resnet50-imagenet --max-restarts=100 train.py '--note=it'\''s $HOME; `x` $(y)' --data '/mnt/my data' ;;
*)
  echo "no worker of resnet50-imagenet stands on ${1:-this node}" >&2; exit 1 ;;
esac
