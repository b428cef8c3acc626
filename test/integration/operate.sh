# knee operate on a Slurm of six virtual nodes: jobs that arrive and end, a node
# that is drained, knee killed twice, the controller restarted once, a job
# cancelled by hand, and jobs of which knee must keep its hands.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "needs root on a Debian machine, for a Slurm of virtual nodes"
engine=$CLONE/test/engines/slurm
loop=
trap '[ -z "$loop" ] || kill -9 $loop 2>/dev/null || true; "$engine/down" "$WORK/slurm" || true' EXIT
check "six virtual nodes are up" "$engine/up" "$WORK/slurm"
export SLURM_CONF=$WORK/slurm/slurm.conf PATH=$PATH:/usr/sbin
cd "$WORK"

# Speeds to plan with, and a trainer that goes on from its last step, tells of
# every step, and says when it has made the last.
{
	echo job,gpu_type,placement,local_batch,step_time_s,status
	for at in 1:0 2:0.01 4:0.02 1-1:0.03 2-2:0.04 4-4:0.05 4-4-4:0.06; do
		for batch in 16 32 64 128; do
			awk -v p="${at%:*}" -v s="${at#*:}" -v b=$batch 'BEGIN { printf "toy,a100,%s,%d,%.4f,ok\n", p, b, 0.4 * b / 128 + s }'
		done
	done
} >toy.csv
check "speeds are fitted" "$KNEE" fit -q toy.csv -o toy.json
cat >trainer <<END
#!/bin/bash
#SBATCH --requeue --comment=knee:elastic
srun --ntasks=\$((SLURM_JOB_NUM_NODES * SLURM_GPUS_ON_NODE)) bash -c '
at=$WORK/\$SLURM_JOB_NAME.step
step=\$(cat \$at 2>/dev/null || echo 0)
trap "exit 0" TERM
[ \$SLURM_PROCID != 0 ] || echo "\$SLURM_JOB_NAME \$SLURM_NTASKS" >>$WORK/sizes
while [ \$step -lt \$STEPS ]; do
  sleep \$(awk "BEGIN { print 0.4 / \$SLURM_NTASKS }")
  step=\$((step + 1))
  [ \$SLURM_PROCID = 0 ] || continue
  echo \$step >\$at.new && mv \$at.new \$at
  echo "knee: {\"step\":\$step,\"step_time_s\":0.1}"
done
[ \$SLURM_PROCID != 0 ] || echo "\$SLURM_JOB_NAME \$SLURM_JOB_ID" >>$WORK/ends'
END
chmod +x trainer
cat >operate.yaml <<END
scheduler: slurm
interval: 3s
between_moves: 5s
deadline: 90s
max_changes: 3
allow: [{user: root, name: "mine-*"}]
pause_file: PAUSE
metrics: 127.0.0.1:17099
sizes: pow2
rules:
  - {match: {name: "*"}, model: toy.json, remaining: {steps: 800}, workers: {min: 1, max: 8}, batch: {initial: 128}, checkpoint: true, restart_seconds: 11}
END
submit() { # submit NAME STEPS OPTIONS...
	local name=$1 steps=$2
	shift 2
	STEPS=$steps sbatch --parsable -J "$name" -t 30 "$@" trainer >>ids
}
for i in 1 2 3 4; do submit mine-$i 400 --nodes=1 --ntasks=1 --gres=gpu:a100:1; done
submit theirs 900 --nodes=2 --ntasks=4 --gres=gpu:a100:2
submit mine-norequeue 100 --no-requeue --nodes=1 --ntasks=1 --gres=gpu:a100:1
theirs=$(squeue --noheader --name=theirs --format=%A)
running() { [ "$(squeue --noheader --states=RUNNING --format=%A | wc -l)" = "$1" ]; }
check "all of them run" within 20 running 6

check "a configuration that allows everything is refused" bash -c "sed 's/^allow.*//' operate.yaml >all.yaml; ! '$KNEE' operate all.yaml --once"
check "a dry turn ends well" "$KNEE" operate operate.yaml --once
check "and has changed nothing" test ! -s turns/audit.jsonl
touch PAUSE
check "a paused turn ends well" "$KNEE" operate operate.yaml --once --confirm
check "and has changed nothing" test ! -s turns/audit.jsonl
rm PAUSE

start() {
	"$KNEE" operate operate.yaml --confirm >>loop.out 2>>loop.err &
	loop=$!
}
stop_hard() {
	kill -9 $loop
	wait $loop 2>/dev/null || true
}
held() { grep -q '"requeuehold".*"answered":false' turns/audit.jsonl; }
start
check "a job is stopped for its change" within 30 held
stop_hard
start
sleep 6
stop_hard
submit mine-5 300 --nodes=1 --ntasks=1 --gres=gpu:a100:1
submit mine-6 300 --nodes=1 --ntasks=2 --gres=gpu:a100:2
start
scontrol update nodename=n4 state=drain reason=test
sleep 4
kill "$(cat slurm/pids/slurmctld)"
sleep 2
check "the controller is started again" slurmctld
cancelled=$(squeue --noheader --name=mine-4 --format=%A)
scancel "$cancelled"
metrics() { curl -sf http://127.0.0.1:17099/metrics | grep '^knee_turns_total{result="ok"} [1-9]'; }
check "metrics are served" within 60 metrics
ended() { [ "$(sort -u ends | wc -l)" = 7 ]; }
check "every job comes to its end but the one that was cancelled" within 400 ended
stop_hard
cat turns/*/outcome.json | grep -o '"status": *"[a-z ]*"' | sort | uniq -c

check "no job ended twice" test "$(wc -l <ends)" = 7
check "no job has another id than at first" bash -c "cut -d' ' -f2 ends | sort | comm -23 - <(sort ids) | wc -l | grep -qx 0"
check "no job is left" test -z "$(squeue --noheader --format=%A)"
check "the jobs of others were not touched" exactly turns/audit.jsonl "\"job\":\"$theirs\"" 0
check "nor the one that may not be requeued" exactly turns/audit.jsonl '"name":"mine-norequeue"' 0
check "a job has run with more tasks than it began with" bash -c "cat sizes | sort -u | grep -q '^mine-1 [2-8]$'"
check "jobs were changed" bash -c "cat turns/*/outcome.json | grep -q '\"status\": \"done\"'"
check "no turn made more changes than it may" bash -c "for f in turns/*/outcome.json; do [ \$(grep -c '\"status\": \"done\"' \$f) -le 6 ] || exit 1; done"
asked=$(grep -c '"answered":false' turns/audit.jsonl) answered=$(grep -c '"answered":true' turns/audit.jsonl)
check "every command has its answer but those in which knee was killed: $asked, $answered" test $((asked - answered)) -le 2

# A turn with 1,000 jobs on 200 nodes, of which Slurm tells by two files.
mkdir big && cd big
awk 'BEGIN { printf "{\"nodes\":["; for (i = 0; i < 200; i++) printf "%s{\"name\":\"n%03d\",\"cpus\":64,\"real_memory\":512000,\"gres\":\"gpu:a100:8\",\"state\":\"idle\"}", i ? "," : "", i; print "]}" }' >nodes.json
awk 'BEGIN { printf "{\"jobs\":["
	for (i = 1; i <= 1000; i++) {
		at = i <= 600 ? sprintf("\"job_state\":\"RUNNING\",\"nodes\":\"n%03d\",\"gres_detail\":[\"gpu:a100:2\"]", (i - 1) / 4) : "\"job_state\":\"PENDING\",\"nodes\":\"\",\"gres_detail\":[]"
		printf "%s{\"job_id\":%d,\"name\":\"job-%d\",\"user_name\":\"u%d\",\"comment\":\"knee:elastic\",\"batch_flag\":true,\"requeue\":true,\"priority\":100,\"submit_time\":%d,\"node_count\":1,\"tasks\":2,\"tres_per_node\":\"gres:gpu:a100:2\",%s}", (i > 1 ? "," : ""), i, i % 40, i % 7, 1795300000 + i, at
	}
	print "]}" }' >jobs.json
mkdir bin
printf '#!/bin/sh\necho squeue >>%s/calls\nexec cat %s/jobs.json\n' "$PWD" "$PWD" >bin/squeue
printf '#!/bin/sh\necho scontrol >>%s/calls\ncase "$*" in *nodes*) cat %s/nodes.json ;; *) echo none ;; esac\n' "$PWD" "$PWD" >bin/scontrol
chmod +x bin/*
cat >operate.yaml <<END
scheduler: slurm
allow: [{user: "u[0-3]"}]
sizes: pow2
rules:
  - {match: {user: "u[0-3]"}, model: ../toy.json, remaining: {steps: 100000}, workers: {max: 16}, batch: {initial: 128}, checkpoint: true, restart_seconds: 60}
END
began=$(date +%s%N)
PATH=$PWD/bin:$PATH check "a turn with 1,000 jobs, 572 of them to plan" "$KNEE" operate operate.yaml --once
echo "      it took $((($(date +%s%N) - began) / 1000000)) ms and asked $(grep -c squeue calls) times for $(stat -c %s jobs.json) bytes of jobs, $(grep -c scontrol calls) times for nodes and reservations"
