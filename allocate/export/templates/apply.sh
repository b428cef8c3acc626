{{/* Deletes the jobs that the plan pauses or changes, since a running job that is not elastic cannot be resized in
place, and applies all that run anew. */ -}}
#!/bin/sh
# knee: carries out the plan.
set -eu
cd "$(dirname "$0")"

{{with .First}}kubectl apply -f {{.}}
{{end}}
{{- range .Tasks}}
{{- if or .Paused .Changed -}}
kubectl delete {{$.Resource}} {{.ID}}{{with .Template.Namespace}} --namespace={{.}}{{end}} --ignore-not-found --wait # {{.Action}}{{if .Paused}}: {{comment .Reason}}{{end}}
{{else if .Kept -}}
# {{.ID}} is kept as it runs
{{end}}
{{- end}}
{{- range .Tasks}}
{{- if not (or .Paused .Kept) -}}
kubectl apply -f {{.ID}}.yaml
{{end}}
{{- end -}}
