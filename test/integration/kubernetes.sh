# Trials through a real Kubernetes API server, scheduler and job controller.
# Pods are processes of test/engines/kubelet on nodes that only claim to have
# GPUs: placement, watches, logs, faults and cleaning up are real, containers
# and GPUs are not.
. "$(dirname "$0")/lib.sh"
cd "$WORK"
control_plane kubelet
pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	"$engine/down" "$WORK/kube"
}
trap cleanup EXIT
export KNEE_TEST_KUBERNETES=$WORK/kube
ln -s "$KNEE" bin/knee
kubelet --kubeconfig "$KUBECONFIG" --dir "$WORK/kube" --node a1,gpus=4,gpu_type=NVIDIA-A100-SXM4-40GB --node a2,gpus=4,gpu_type=NVIDIA-A100-SXM4-40GB \
	--node t1,gpus=2,gpu_type=Tesla-T4,taint=nvidia.com/gpu:NoSchedule >kubelet.log 2>&1 &
pids+=($!)
within 30 holds kubelet.log ready 1 || { cat kubelet.log; exit 1; }

api() { # api PATH
	curl -sSf --max-time 60 --cacert kube/certs/apiserver.crt -H "Authorization: Bearer $(cat kube/token)" \
		"https://127.0.0.1:$(cat kube/apiserver.port)$1"
}
# New nodes carry a taint until the node controller has seen that they are ready.
settled() { api /api/v1/nodes >nodes.json && ! grep -q node.kubernetes.io/not-ready nodes.json; }
within 30 settled || { api /api/v1/nodes; exit 1; }
left() { # the objects of trials that are there
	for path in api/v1/pods api/v1/services apis/batch/v1/jobs; do
		api "/$path?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dknee" | tr -d ' \n' | grep -o '"metadata":{"name":"[^"]*"' || true
	done
}
none_left() {
	within 20 test -z "$(left)" || { left; return 1; }
}

# The how-to, as it is written.
cp "$CLONE/examples/kubernetes/study.yaml" .
sed -n '/^```console$/,/^```$/s/^\$ //p' "$CLONE/docs/howto-kubernetes.md" >howto.sh
check "the how-to shows commands" test "$(wc -l <howto.sh)" -ge 5
while read -r line; do
	check "$line" bash -euo pipefail -c "$line"
done <howto.sh
cat study.measurements.csv
check "the cluster has the types of the nodes" bash -c 'cat cluster.yaml; grep -q "a\[1-2\].*gpu_type: a100, gpus: 4" cluster.yaml' 
check "configurations were measured until the search had seen enough" holds study.measurements.csv ',ok,' 6
check "pods were really placed" bash -c 'cat study.logs/*.log | grep -q "worker 0 is on node"'
check "there is nothing left in the cluster" none_left
check "no process of a pod is left" no_process "^knee train --model small"

# Killed and taken up again.
cat >train.sh <<'END'
for i in $(seq "${STEPS:-80}"); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.05$((i * 7 % 5)),\"loss\":1.5}"
	sleep 0.0512
done
END
cat >killed.yaml <<END
job: killed
command: [bash, $WORK/train.sh]
space: {workers: [1, 2, 3]}
trial: {rel_precision: 0.0001, max_seconds: 600, min_steps: 1000}
launcher: {kubernetes: {image: any}}
END
knee profile killed.yaml >/dev/null 2>killed.err &
pid=$!
within 30 holds killed.journal.jsonl '"event":"submitted"' 1
sleep 2
kill -9 $pid
wait $pid 2>/dev/null || true
check "pods run on when knee is killed" test -n "$(left)"
check "the same command takes them up" bash -c 'knee profile killed.yaml >resumed.out 2>resumed.err || { cat resumed.err; false; }'
check "and follows, not repeats, the one that ran" bash -c 'grep -l "following default/knee-killed-t1-1-" killed.logs/*.log'
steps_of_first() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } NR == 2 { print $column["steps"] }' killed.measurements.csv; }
check "all steps of it count, those before the kill too: $(steps_of_first) of 80" test "$(steps_of_first)" -ge 60
check "three trials for three configurations" exactly killed.journal.jsonl '"event":"end"' 3
check "there is nothing left in the cluster" none_left

# What knee and the cluster add to a trial: five of them one after the other,
# each of which says itself how long it ran.
cat >timed.sh <<'END'
begin=$(date +%s%N)
for i in $(seq 30); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.02}"
	sleep 0.02
done
echo $(($(date +%s%N) - begin)) >>"$TIMES"
END
cat >timed.yaml <<END
job: timed
command: [bash, $WORK/timed.sh]
env: {TIMES: $WORK/times}
space: {workers: [1], x: [1, 2, 3, 4, 5]}
trial: {rel_precision: 0.0001, max_seconds: 600, min_steps: 1000}
launcher: {kubernetes: {image: any}}
END
begin=$(date +%s%N)
check "five short trials" knee profile timed.yaml
all=$(($(date +%s%N) - begin))
check "each ran once" test "$(wc -l <times)" = 5
added=$(((all - $(($(paste -sd+ times)))) / 5000000))
echo "      added to each trial: $added ms"
[ $added -lt 3000 ] || grep -h '^.knee' timed.logs/*.log # where it went

# Two interrupts.
sed -i 's/^command.*/&\nenv: {STEPS: 20000}/' killed.yaml
knee profile killed.yaml --restart >/dev/null 2>stopped.err &
pid=$!
within 30 holds stopped.err 'trial started' 1
sleep 2
interrupt_twice $pid stopped.err
code=0
wait $pid || code=$?
check "two interrupts end it with 130" test $code = 130
check "there is nothing left in the cluster" none_left
check "no process of a pod is left" no_process "sleep 0.0512"

# Operators' days. A trial of a100-4 fills a node, so that of three at once one
# waits, for longer than trial.timeout.
cat >short.sh <<'END'
[ "$RANK" = 0 ] || exec sleep 1
for i in $(seq 300); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.05}"
	sleep 0.05
done
END
operators() { # operators JOB GPU WORKERS REST: a study of five trials of workers on one node
	cat >"$1.yaml" <<END
job: $1
command: [bash, $WORK/short.sh]
space: {gpu_type: [$2], placement: [$3], x: [1, 2, 3, 4, 5]}
trial: {rel_precision: 0.0001, max_seconds: 600, min_steps: 1000, timeout: 12s, retries: 0}
launcher: {kubernetes: {image: any$4}}
END
}
operators full a100 4 ''
echo 'parallel: 3' >>full.yaml
check "five trials of which two fit at a time" knee profile -q full.yaml
check "all were measured: the third waited for longer than trial.timeout" exactly full.measurements.csv ',ok,' 5
operators never h100 1 ', max_wait: 5s'
knee profile -q never.yaml >never.out 2>&1 || true # none succeeded
check "trials that get no nodes are queued, not timeouts or failures" exactly never.measurements.csv ',queued,.*waited 5s for its pods to run' 5
check "there is nothing left in the cluster" none_left

# One SIGTERM while the only trial waits.
operators waits h100 1 ''
knee profile waits.yaml >/dev/null 2>waits.err &
pid=$!
within 30 holds waits.journal.jsonl '"event":"submitted"' 1
sleep 1
kill -TERM $pid
check "one SIGTERM ends a profile whose trial only waits" within 10 dead $pid
check "there is nothing left in the cluster" none_left

# A restart beside a job that still waits.
knee profile waits.yaml --restart >/dev/null 2>waits.err &
pid=$!
within 30 holds waits.err 'trial submitted' 1
sleep 2
kill -9 $pid
wait $pid 2>/dev/null || true
old=$(left)
check "its job still waits in the cluster" test -n "$old"
sed -i 's/h100/a100/' waits.yaml
check "a restart measures the new space" bash -c 'knee profile waits.yaml --restart >restarted.out 2>restarted.err || { cat restarted.err; false; }'
check "and says that it cancelled the old job" holds restarted.err 'cancelled job default/knee-waits-t1-1-' 1
check "whose log it does not share" test -n "$(ls -d waits.logs/run-3)"
check "there is nothing left in the cluster" none_left

# A kubeconfig as GKE writes it: a plugin that is told of the cluster.
cat >bin/gke-gcloud-auth-plugin <<END
#!/bin/bash
grep -q '"server":"https://127.0.0.1' <<<"\$KUBERNETES_EXEC_INFO" || { echo "not told of the cluster" >&2; exit 1; }
echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"'\$(cat "$WORK/kube/token")'"}}'
END
chmod +x bin/gke-gcloud-auth-plugin
sed "s|certs/apiserver.crt|$WORK/kube/certs/apiserver.crt|; s|user: {token:.*|user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: gke-gcloud-auth-plugin, installHint: install it, provideClusterInfo: true}}|" kube/kubeconfig >gke.yaml
check "a kubeconfig of GKE's shape works" env KUBECONFIG="$WORK/gke.yaml" knee cluster --from kubernetes
sed 's/gke-gcloud-auth-plugin/no-such-plugin/' gke.yaml >plugin.yaml
check "and says what is missing where its plugin is not installed" bash -c '! KUBECONFIG=plugin.yaml knee cluster --from kubernetes 2>plugin.err && grep -q no-such-plugin plugin.err && grep -q "install it" plugin.err'

crds=0
"$engine/crds" "$WORK/kube" || crds=$?
if [ $crds = 77 ]; then
	echo "skip  the custom resources cannot be downloaded: exported manifests are not judged"
else
	check "the custom resources load" test $crds = 0
fi

# The launcher's own tests: faults, ends, preemption, lost nodes, restarts.
code=0
(cd "$CLONE" && go test ./profile/launch -run TestKubernetesEngine -count=1 -timeout 20m -v) >engine.log 2>&1 || code=$?
sed -nE 's/^ *--- PASS: ([^ ]*) \((.*)\)/ok    \1 (\2)/p; s/^ *--- FAIL: ([^ ]*).*/FAIL  \1/p' engine.log
check "the launcher passes its tests on the engine" bash -c "[ $code = 0 ] || { cat engine.log; tail -20 kubelet.log; false; }"

# Jobs that a plan starts, moves and pauses by patches.
queue_nodes=()
for test in queue torch; do
	for i in 1 2 3; do queue_nodes+=(--node "knee-$test-$i,gpus=4,gpu_type=NVIDIA-A100-SXM4-40GB"); done
done
kubelet --kubeconfig "$KUBECONFIG" --dir "$WORK/kube" "${queue_nodes[@]}" >queue-kubelet.log 2>&1 &
pids+=($!)
within 30 holds queue-kubelet.log ready 1 || { cat queue-kubelet.log; exit 1; }
within 30 settled || { api /api/v1/nodes; exit 1; }
[ $crds != 0 ] || "$engine/training-operator" "$WORK/kube"
code=0
(cd "$CLONE" && go test ./operate/kubequeue -run TestEngine -count=1 -v) >queue.log 2>&1 || code=$?
check "jobs of the queue are started and moved on their nodes" bash -c "[ $code = 0 ] || { cat queue.log; false; }"

# Exported manifests, by the word of the real API server.
if [ $crds = 0 ]; then
	code=0
	(cd "$CLONE" && go test ./test/engines/manifests -count=1 -v) >manifests.log 2>&1 || code=$?
	sed -nE 's/^.*(accepted|not judged|REJECTED) +/      \1 /p' manifests.log
	check "the API server takes every manifest it can judge" bash -c "[ $code = 0 ] || { cat manifests.log; false; }"
fi
