# knee operate on a real Kubernetes control plane, as the service account of
# examples/operate/kubernetes.yaml: PyTorchJobs and a RayJob whose pods are
# processes of this machine, in a namespace with a quota, beside a namespace
# with a job of the same name, pods of others and a tainted node; knee killed twice,
# the API server restarted, a worker stopped and slowed, a node drained and lost;
# jobs that Kueue starts.
. "$(dirname "$0")/lib.sh"
cd "$WORK"
control_plane kubelet operator
pids=()
loop=
trap '[ -z "$loop" ] || kill -9 $loop 2>/dev/null || true; for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; "$engine/down" "$WORK/kube"' EXIT
"$engine/crds" "$WORK/kube" && "$engine/training-operator" "$WORK/kube" || skip "the custom resources or the training operator cannot be had"
mkdir state
operator --kubeconfig "$KUBECONFIG" >operator.log 2>&1 &
pids+=($!)
nodes=()
for n in a1 a2 a3; do nodes+=(--node $n,gpus=4,gpu_type=NVIDIA-A100-SXM4-40GB); done
kubelet --kubeconfig "$KUBECONFIG" --dir "$WORK/kube" "${nodes[@]}" --node t1,gpus=4,gpu_type=NVIDIA-A100-SXM4-40GB,taint=team:NoSchedule >kubelet.log 2>&1 &
pids+=($!)
within 30 holds kubelet.log ready 1 || { cat kubelet.log; exit 1; }

api() { # api METHOD PATH [FILE [TYPE]]: asks the API server as its administrator
	local type=application/yaml
	[ "$1" != PATCH ] || type=${4:-application/merge-patch+json}
	curl -sS --fail-with-body --max-time 60 --cacert kube/certs/apiserver.crt -H "Authorization: Bearer $(cat kube/token)" -X "$1" -H "Content-Type: $type" \
		${3:+--data-binary "@$3"} "https://127.0.0.1:$(cat kube/apiserver.port)$2"
}
settled() { api GET /api/v1/nodes >nodes.json && ! grep -q node.kubernetes.io/not-ready nodes.json; }
within 30 settled || exit 1
create() { api POST "$1" /dev/stdin >created || { cat created; return 1; }; }

# The manifest, object by object, and the token of its service account.
awk 'BEGIN { n = 1 } /^---$/ { n++; next } { print > ("manifest." n ".yaml") }' "$CLONE/examples/operate/kubernetes.yaml"
place() { # where objects of a kind are created
	case $1 in
	Namespace) echo /api/v1/namespaces ;;
	ServiceAccount) echo /api/v1/namespaces/knee/serviceaccounts ;;
	ConfigMap) echo /api/v1/namespaces/knee/configmaps ;;
	PersistentVolumeClaim) echo /api/v1/namespaces/knee/persistentvolumeclaims ;;
	Deployment) echo /apis/apps/v1/namespaces/knee/deployments ;;
	ClusterRole) echo /apis/rbac.authorization.k8s.io/v1/clusterroles ;;
	ClusterRoleBinding) echo /apis/rbac.authorization.k8s.io/v1/clusterrolebindings ;;
	Role) echo /apis/rbac.authorization.k8s.io/v1/namespaces/training/roles ;;
	RoleBinding) echo /apis/rbac.authorization.k8s.io/v1/namespaces/training/rolebindings ;;
	esac
}
bindings=()
for i in $(seq "$(ls manifest.*.yaml | wc -l)"); do
	kind=$(sed -n 's/^kind: //p' manifest.$i.yaml)
	case $kind in
	*Binding) bindings+=("$i") ;;
	*) check "the API server takes the $kind of the manifest" api POST "$(place "$kind")" manifest.$i.yaml ;;
	esac
done
echo '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}' |
	api POST /api/v1/namespaces/knee/serviceaccounts/knee/token /dev/stdin | tr -d ' \n' | sed 's/.*"token":"\([^"]*\)".*/\1/' >knee.token
sed "s/user: {token: .*/user: {token: \"$(cat knee.token)\"}/; s/namespace: default/namespace: training/; s#certs/#$WORK/kube/certs/#" kube/kubeconfig >knee.kubeconfig
knee() { KUBECONFIG=$WORK/knee.kubeconfig "$KNEE" "$@"; }

# Speeds to plan with, and a job: the built-in trainer, whose storage delivers
# 320 samples a second to each worker, started again while its job is not over, as
# torchrun does. Pods are processes of this machine, and rank 0 is at a port of its
# job. The head of a Ray cluster waits for the workers.
{
	echo job,gpu_type,placement,local_batch,step_time_s,status
	for at in 1:0 2:0.01 4:0.02 1-1:0.02 2-2:0.03 4-4:0.04; do
		for batch in 16 32 64 128; do
			awk -v p="${at%:*}" -v s="${at#*:}" -v b=$batch 'BEGIN { printf "toy,a100,%s,%d,%.4f,ok\n", p, b, 0.4 * b / 128 + s }'
		done
	done
} >toy.csv
check "speeds are fitted" "$KNEE" fit -q toy.csv -f toy.json
cat >trainer <<'END'
#!/bin/bash
# trainer NAME STEPS
at=$STATE/$1
child=
export WORLD_SIZE=${PET_NNODES:-$WORLD_SIZE} RANK=${POD##*-} MASTER_PORT=$((10000 + $(cksum <<<$1 | cut -d' ' -f1) % 7000))
export KNEE_LOCAL_BATCH=$((128 / WORLD_SIZE))
trap '[ -z "$child" ] || kill $child; exit 143' TERM # to leave is not to succeed
until [ -e $at.done ]; do
	if [[ $POD == *-head-* ]]; then
		sleep 0.3 &
	else
		echo $WORLD_SIZE >>$at.sizes
		$KNEE train --steps $2 --input-rate 320 --checkpoint $at.ckpt &
	fi
	child=$!
	if wait $child && [[ $POD != *-head-* ]]; then
		[ $RANK != 0 ] || { echo "$1" >>$STATE/ends; : >$at.done; }
		break
	fi
	sleep 0.2
done
END
chmod +x trainer
# What Kueue starts is a counter: an elastic Job gets pods while it runs.
cat >counter <<'END'
#!/bin/bash
# counter NAME STEPS
at=$STATE/$1
mkdir -p $at.alive
: >$at.alive/$POD
trap 'rm -f $at.alive/$POD; exit 0' TERM
if [[ $POD != kueue-?-0-* && $POD != elastic-1-* ]] || [[ $POD == elastic-1-* && -e $at.step ]]; then
	until [ -e $at.done ]; do sleep 0.3; done
	exit 0
fi
[ ! -e $at.done ] || exit 0 # it was moved as it ended
step=$(cat $at.step 2>/dev/null || echo 0)
while [ $step -lt $2 ]; do
	began=${EPOCHREALTIME/./}
	n=$(ls $at.alive | wc -l)
	echo "$n" >>$at.sizes
	sleep $(printf '0.%03d' $((400 / n)))
	step=$((step + 1))
	echo $step >$at.new && mv $at.new $at.step
	echo "knee: {\"step\":$step,\"step_time_s\":$(printf '%d.%06d' $(((${EPOCHREALTIME/./} - began) / 1000000)) $(((${EPOCHREALTIME/./} - began) % 1000000)))}"
done
: >$at.done
END
chmod +x counter
container() { # container NAME STEPS GPUS [PROGRAM [NAME]]
	local resources=
	[ -z "${3:-}" ] || resources=", resources: {limits: {nvidia.com/gpu: \"$3\"}}"
	echo "{name: ${5:-main}, image: none, command: [\"$WORK/${4:-trainer}\", \"$1\", \"$2\"], env: [{name: STATE, value: \"$WORK/state\"}, {name: KNEE, value: \"$KNEE\"}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]$resources}"
}
pytorch() { # pytorch NAMESPACE NAME STEPS REPLICAS LABELS
	create /apis/kubeflow.org/v1/namespaces/$1/pytorchjobs <<END
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: $2, labels: {$5}}
spec: {pytorchReplicaSpecs: {Worker: {replicas: $4, restartPolicy: ExitCode, template: {spec: {terminationGracePeriodSeconds: 2, containers: [$(container "$1.$2" "$3" 1 trainer pytorch)]}}}}}
END
}
ray() { # ray NAMESPACE NAME STEPS
	create /apis/ray.io/v1/namespaces/$1/rayjobs <<END
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: $2, labels: {knee: operate}}
spec:
  suspend: false
  rayClusterSpec:
    headGroupSpec: {template: {spec: {terminationGracePeriodSeconds: 2, restartPolicy: Never, containers: [$(container "$1.$2" "$3")]}}}
    workerGroupSpecs: [{groupName: gpu, replicas: 1, minReplicas: 1, maxReplicas: 8, template: {spec: {terminationGracePeriodSeconds: 2, restartPolicy: Never, containers: [$(container "$1.$2" "$3" 1)]}}}]
END
}
create /api/v1/namespaces <<<'{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "others"}}'
create /api/v1/namespaces/training/resourcequotas <<<'{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": {"hard": {"requests.nvidia.com/gpu": "8"}}}'
quota() { api GET /api/v1/namespaces/training/resourcequotas/gpus | grep '"used"' >/dev/null; }
within 20 quota || exit 1
create /api/v1/namespaces/others/pods <<END
apiVersion: v1
kind: Pod
metadata: {name: notebook}
spec: {nodeSelector: {kubernetes.io/hostname: a1}, containers: [{name: main, image: none, command: [sleep, "3600"], resources: {limits: {nvidia.com/gpu: "2"}}}]}
END
pytorch training same 300 1 "knee: operate"
pytorch others same 5000 1 "knee: operate"
pytorch training foreign 5000 1 "team: x"
for i in 1 2; do pytorch training job-$i 250 1 "knee: operate"; done
pytorch training calm 600 1 "knee: operate"
ray training ray-1 200
running() { [ "$(api GET /api/v1/pods | grep -c '"phase": "Running"')" = "$1" ]; }
check "all of them run" within 40 running 9

cat >operate.yaml <<END
scheduler: kubernetes
namespaces: [training]
interval: 3s
between_moves: 6s
deadline: 40s
max_changes: 3
allow: [{namespace: training, labels: {knee: operate}}]
pause_file: PAUSE
sizes: pow2
rules:
  - {match: {name: "new-*"}, remaining: {steps: 200}, workers: {min: 1, max: 4}, batch: {initial: 128}, checkpoint: true, restart_seconds: 3}
  - {match: {name: calm}, model: toy.json, remaining: {steps: 600}, batch: {initial: 128}}
  - {match: {name: "*"}, model: toy.json, remaining: {steps: 300}, workers: {min: 1, max: 4}, batch: {initial: 128}, checkpoint: true, restart_seconds: 3}
END
refused() { # refused TEXT COMMAND...: the command fails and says so
	local text=$1
	shift
	! "$@" >refused.out 2>&1 && grep -- "$text" refused.out || { cat refused.out; return 1; }
}
check "without credentials it says where it looked" refused "KUBECONFIG" env KUBECONFIG=/nowhere HOME=/nowhere "$KNEE" operate operate.yaml --once
check "without its roles it says what it may not do" refused "forbidden" knee operate operate.yaml --once
for i in "${bindings[@]}"; do
	check "the API server takes a binding of the manifest" api POST "$(place "$(sed -n 's/^kind: //p' manifest.$i.yaml)")" manifest.$i.yaml
done
check "a configuration that allows everything is refused" bash -c "sed 's/^allow.*//' operate.yaml >all.yaml; ! '$KNEE' operate all.yaml --once"
looks() { knee operate operate.yaml --once; }
check "with them a dry turn ends well" within 10 looks
check "and has changed nothing" exactly turns/audit.jsonl '"command"' 0
check "nobody has the same name in jobs.yaml of two namespaces" bash -c "KUBECONFIG=$KUBECONFIG '$KNEE' jobs --from kubernetes --namespace training,others >two.yaml && grep -q 'name: training/same' two.yaml && grep -q 'name: others/same' two.yaml"

start() {
	KUBECONFIG=$WORK/knee.kubeconfig "$KNEE" operate operate.yaml --confirm >>loop.out 2>>loop.err &
	loop=$!
}
stop_hard() {
	kill -9 $loop
	wait $loop 2>/dev/null || true
}
start
check "a job is suspended for its change" within 40 holds turns/audit.jsonl '"answered":true' 1
stop_hard
pytorch training new-1 150 1 "knee: operate"
start
sleep 8
"$engine/apiserver" stop "$WORK/kube"
sleep 3
check "the API server is started again" "$engine/apiserver" start "$WORK/kube"
calm=$(pgrep -f "train .*/training.calm.ckpt")
kill -STOP $calm
silent() { grep '"proposal"' turns/audit.jsonl | grep '"name":"calm","kind":"silent"'; }
check "a job whose worker is stopped is proposed to the operator" within 60 silent
kill -CONT $calm
while kill -STOP $calm 2>/dev/null; do sleep 0.9; kill -CONT $calm 2>/dev/null; sleep 0.1; done &
slowing=$!
slowed() { grep '"proposal"' turns/audit.jsonl | grep '"name":"calm","kind":"slowed"'; }
check "so is one that is slowed to a tenth" within 60 slowed
kill $slowing
kill -CONT $calm
check "and left as it was" bash -c "! grep '\"command\"' turns/audit.jsonl | grep pytorchjobs/calm"
# A node is drained: no new pods, and those on it are evicted.
unschedulable() { echo "{\"spec\": {\"unschedulable\": $1}}" | api PATCH /api/v1/nodes/a3 /dev/stdin >/dev/null; }
on_a3() { # on_a3 NAMESPACE
	api GET "/api/v1/namespaces/$1/pods?fieldSelector=spec.nodeName=a3" | grep -o '"name": "[a-z0-9-]*-\(worker\|gpu\|head\)-*[a-z0-9-]*"' | cut -d'"' -f4 | sort -u
}
evict() {
	local namespace pod
	for namespace in training others; do
		for pod in $(on_a3 $namespace); do api DELETE "/api/v1/namespaces/$namespace/pods/$pod" >/dev/null || true; done
	done
}
unschedulable true
evict
stop_hard
start
turns=$(ls -d turns/0* | wc -l)
left() { # two turns after the restart at the earliest; one without jobs to plan has no plan
	local last
	[ "$(ls -d turns/0* | wc -l)" -gt $((turns + 2)) ] || return 1
	last=$(ls -d turns/0* | tail -2 | head -1) # the last may not be over
	[ ! -e "$last/plan.json" ] || ! grep -B4 '"node": "a3"' "$last/plan.json" || return 1
	evict # as kubectl drain does until none is left: the scheduler may have bound a pod just before
	[ -z "$(on_a3 training)$(on_a3 others)" ]
}
check "a drained node is left, and nothing is planned on it by a loop that is killed and started again" within 60 left
unschedulable false
ended() { [ "$(cat state/ends 2>/dev/null | grep -c 'training.\(same\|calm\|job-1\|job-2\|ray-1\|new-1\)$')" = 6 ]; }
check "the jobs come to their end" within 240 ended
stop_hard
cat turns/*/outcome.json | grep -o '"status": *"[a-z ]*"' | sort | uniq -c

check "none twice" bash -c '[ -z "$(sort state/ends | uniq -d)" ]'
check "jobs grew" bash -c 'cat state/training.*.sizes | grep -q "^[2-4]$"'
check "a job without a model got one, borrowed from what others show" bash -c "grep '\"model\":{' turns/audit.jsonl | grep '\"borrowed\"'"
check "no command concerned the job of the same name in another namespace" exactly turns/audit.jsonl '/namespaces/others/' 0
check "nor the one that is not on the allow-list" exactly turns/audit.jsonl 'pytorchjobs/foreign' 0
check "nor was anything planned on the tainted node" bash -c "! cat turns/*/plan.json | grep '\"node\": \"t1\"'"
check "the foreign jobs and pods run on" running 3
for at in others/pytorchjobs/same training/pytorchjobs/foreign; do api DELETE /apis/kubeflow.org/v1/namespaces/$at >/dev/null; done
check "until their owners delete them" within 40 running 1
asked=$(grep -c '"answered":false' turns/audit.jsonl) answered=$(grep -c '"answered":true' turns/audit.jsonl)
check "every command has its answer but those in which knee was killed: $asked, $answered" test $((asked - answered)) -le 2

# Jobs that Kueue starts get their size while they wait, and are left alone when
# they run, but for those that Kueue calls elastic. Kueue itself does not run:
# this script admits. test/engines/operator gives TrainJobs their JobSets.
sed 's/^deadline.*/deadline: 10s/; s/^max_changes.*/max_changes: 9/' operate.yaml >kueue.yaml
queued() { # queued NAME ANNOTATIONS SPEC
	create /apis/batch/v1/namespaces/training/jobs <<END
apiVersion: batch/v1
kind: Job
metadata: {name: $1, labels: {knee: operate, kueue.x-k8s.io/queue-name: gpus}, annotations: {$2}}
spec: {backoffLimit: 0, $3, template: {spec: {terminationGracePeriodSeconds: 2, restartPolicy: Never, containers: [$(container "training.$1" 200 1 counter)]}}}
END
}
trainjob() { # trainjob NAME
	create /apis/trainer.kubeflow.org/v1alpha1/namespaces/training/trainjobs <<END
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: $1, labels: {knee: operate, kueue.x-k8s.io/queue-name: gpus}}
spec: {suspend: true, runtimeRef: {name: torch-distributed}, trainer: {numNodes: 1, resourcesPerNode: {limits: {nvidia.com/gpu: "1"}}}}
END
}
field() { api GET "$1" | tr -d ' \n' | grep -o "\"$2\":[0-9]*" | head -1 | cut -d: -f2; } # field PATH NAME: a number of an object
jobs=/apis/batch/v1/namespaces/training/jobs
trainjobs=/apis/trainer.kubeflow.org/v1alpha1/namespaces/training/trainjobs
jobsets=/apis/jobset.x-k8s.io/v1alpha2/namespaces/training/jobsets
turn() { knee operate kueue.yaml --once --confirm >turn.out 2>&1 || { cat turn.out; return 1; }; cat turn.out; }
queued kueue-1 "" "suspend: true, parallelism: 1, completions: 1, completionMode: Indexed"
check "a turn with a Job that waits in a queue of Kueue" turn
check "gives it another size, for the API server takes its completions with it" test "$(field $jobs/kueue-1 parallelism)-$(field $jobs/kueue-1 completions)" = 4-4
check "and does not start it" bash -c "! grep 'suspend' <(grep kueue-1 turns/audit.jsonl)"
check "a second turn leaves it" turn
check "as it is" test "$(grep -c 'PATCH.*jobs/kueue-1' turns/audit.jsonl)" = 2 # the command and its answer
echo '{"spec": {"suspend": false}}' | api PATCH $jobs/kueue-1 /dev/stdin >/dev/null
four() { [ "$(api GET /api/v1/namespaces/training/pods | grep -c '"name": "kueue-1-')" -ge 4 ] && knee jobs --from kubernetes --config operate.yaml -o csv | grep ',kueue-1,.*,running,.*:.*has admitted it'; }
check "admitted, it runs at that size, and is nothing for knee to change" within 40 four
told() { cat turns/*/queue.json | tr -d ' \n' | sed 's/{"id"/\n&/g' | grep '"name":"kueue-1".*"state":"running".*"step":[1-9]'; }
measured() { turn && told; }
check "its progress is read from the log of its rank 0" within 30 measured
over() { [ -e state/training.kueue-1.done ]; }
check "and it comes to its end" within 60 over
queued elastic-1 'kueue.x-k8s.io/elastic-job: "true"' "suspend: false, parallelism: 1"
grown() { turn && [ "$(field $jobs/elastic-1 parallelism)" -gt 1 ]; }
check "an elastic Job is resized while it runs" within 40 grown
check "and keeps the pod it had" test "$(sort -u state/training.elastic-1.sizes | head -1)" = 1
over() { api GET $jobs/elastic-1 | grep '"type": "Complete"'; }
check "and comes to its end" within 90 over
trainjob train-1
jobset() { api GET $jobsets/train-1; }
check "a TrainJob that waits has its JobSet" within 20 jobset
check "a turn with it" turn
resized() { [ "$(field $trainjobs/train-1 numNodes)-$(field $jobsets/train-1 parallelism)" = 4-4 ] || { api GET $trainjobs/train-1; api GET $jobsets/train-1; cat turn.out; false; }; }
check "resizes it, and its JobSet follows" within 20 resized
api DELETE $trainjobs/train-1 >/dev/null && api DELETE $jobsets/train-1 >/dev/null
# What the webhook of JobSet says up to v0.10, as a policy of the API server.
create /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: jobset}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [jobsets]}]}
  validations: [{expression: "object.spec.replicatedJobs[0].template.spec.parallelism == oldObject.spec.replicatedJobs[0].template.spec.parallelism", message: field is immutable}]
END
create /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings <<<'{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "jobset"}, "spec": {"policyName": "jobset", "validationActions": ["Deny"]}}'
trainjob train-2
echo '[{"op": "replace", "path": "/spec/replicatedJobs/0/template/spec/parallelism", "value": 3}]' >three
denied() { # a policy holds some time after it was made
	! api PATCH "$jobsets/train-2?dryRun=All" three application/json-patch+json >denied.out 2>&1 && grep 'field is immutable' denied.out
}
check "the JobSet of another may not change" within 20 denied
check "a turn with one whose JobSet keeps its pods" bash -c "KUBECONFIG=$WORK/knee.kubeconfig '$KNEE' operate kueue.yaml --once --confirm >turn.out 2>&1; grep 'rolled back.*does not show' turn.out || { cat turn.out; false; }"
check "gives it back the size its owner asked for" test "$(field $trainjobs/train-2 numNodes)" = 1
api DELETE $trainjobs/train-2 >/dev/null && api DELETE $jobsets/train-2 >/dev/null

# A plan, applied twice, when it is stale, when its job is gone, and when its node
# is.
plan() { # plan NAME JOB: a plan that gives a job more than its one pod
	pytorch training "$2" 5000 1 "knee: operate"
	up() { knee jobs --from kubernetes --config operate.yaml -o csv | grep ",$2,training,.*,running,.*toy.json"; }
	within 40 up "$1" "$2" && knee cluster --from kubernetes >cluster.yaml && knee jobs --from kubernetes --config operate.yaml >jobs.yaml &&
		knee allocate --cluster cluster.yaml --jobs jobs.yaml --sizes pow2 --plan "$1.json" -q >/dev/null && grep '"action": "grow"' "$1.json"
}
apply() { knee apply "$1.json" --to kubernetes --config operate.yaml --deadline 40s --confirm -o csv; }
replicas() { api GET /apis/kubeflow.org/v1/namespaces/training/pytorchjobs/$1 | sed -n 's/^ *"replicas": \([0-9]*\),*$/\1/p' | head -1; }
check "a plan for a job" plan one app-1
check "is applied" bash -c "$(declare -f knee apply); KNEE=$KNEE WORK=$WORK; apply one >one.out 2>one.err && grep ',done,' one.out && grep -q PATCH one.err || { cat one.out one.err; false; }"
check "a second time there is nothing to do" bash -c "$(declare -f knee apply); KNEE=$KNEE WORK=$WORK; apply one >one.out 2>one.err && grep ',already,' one.out && ! grep PATCH one.err || { cat one.out one.err; false; }"
check "the quota of the namespace holds" test "$(replicas app-1)" -le 4
echo '{"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}}' | api PATCH /apis/kubeflow.org/v1/namespaces/training/pytorchjobs/app-1 /dev/stdin >/dev/null
two() { [ "$(api GET '/api/v1/namespaces/training/pods' | grep -c '"name": "app-1-worker')" = 2 ]; }
within 40 two || exit 1
check "a job that its owner has changed since is left alone" bash -c "$(declare -f knee apply); KNEE=$KNEE WORK=$WORK; ! apply one >one.out 2>one.err && grep ',stale,' one.out && ! grep PATCH one.err || { cat one.out one.err; false; }"
api DELETE /apis/kubeflow.org/v1/namespaces/training/pytorchjobs/app-1 >/dev/null
check "another plan" plan two app-2
api DELETE /apis/kubeflow.org/v1/namespaces/training/pytorchjobs/app-2 >/dev/null
check "a job that was cancelled by hand has ended, and that is no failure" bash -c "$(declare -f knee apply); KNEE=$KNEE WORK=$WORK; apply two >two.out 2>two.err && grep ',ended,' two.out || { cat two.out two.err; false; }"
check "a third plan" plan three app-3
mkdir -p kube/lost
targets=$(sed -n 's/^ *"node": "\(a[0-9]\)",*$/\1/p' three.json | sort -u)
for n in $targets; do : >kube/lost/$n; done
lost() { # the others may be silent for a moment
	local n
	for n in $targets; do
		api GET /api/v1/nodes/$n | tr -d ' \n' | grep '"type":"Ready","status":"Unknown"' >/dev/null || return 1
	done
}
check "its nodes are lost" within 60 lost
check "nothing is stopped for nodes that are gone" bash -c "$(declare -f knee apply); KNEE=$KNEE WORK=$WORK; ! apply three >three.out 2>three.err && ! grep PATCH three.err || { cat three.out three.err; false; }"
