#!/bin/sh
# knee: job {{comment .Name}}, {{plural .Workers "worker" ""}} on {{plural (len .Placement) "node" ""}}. Usage: {{.ID}}.torchrun.sh [node]
set -eu
{{template "exports" .Environment -}}
case "${1:-$(hostname -s)}" in
{{- $t := .}}{{$first := (index .Placement 0).Node}}
{{- range $rank, $s := .Placement}}
"{{$s.Node}}")
  {{with index $t.Devices $s.Node}}export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:{{.}}}" # other jobs have the others
  {{end}}exec torchrun {{with $t.NodeRange -}}
    --nnodes={{.}} --nproc-per-node={{$s.Workers}} --rdzv-backend=c10d --rdzv-endpoint={{$first}}:"${MASTER_PORT:-{{$t.Port}}}" --rdzv-id={{$t.ID}} --max-restarts={{elasticRestarts}}
  {{- else -}}
    --nnodes={{len $t.Placement}} --nproc-per-node={{$s.Workers}} --node-rank={{$rank}} --master-addr={{$first}} --master-port="${MASTER_PORT:-{{$t.Port}}}"
  {{- end}} {{shellWords $t.Torchrun}} ;;
{{- end}}
*)
  echo "no worker of {{.ID}} stands on ${1:-this node}" >&2; exit 1 ;;
esac
