# knee operate on a Slurm of six virtual nodes: jobs that arrive and end, a node
# that is drained, knee killed twice, the controller restarted once, a clock that
# is set a day ahead and back, a job cancelled by hand, a worker stopped and one
# slowed, and jobs of which knee must keep its hands; then plans applied twice,
# late and to what is gone, a scheduler that answers late, half and nonsense, and
# forecasts of thirty jobs.
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
echo \$\$ >$WORK/\$SLURM_JOB_NAME.\$SLURM_PROCID.pid
[ \$SLURM_PROCID != 0 ] || echo "\$SLURM_JOB_NAME \$SLURM_NTASKS" >>$WORK/sizes
printf -v nap 0.%03d \$((400 / SLURM_NTASKS))
began=\${EPOCHREALTIME/./}
while [ \$step -lt \$STEPS ]; do
  sleep \$nap
  step=\$((step + 1))
  now=\${EPOCHREALTIME/./} took=\$((now - began))
  began=\$now
  printf "knee: {\"rank\":%d,\"step\":%d,\"step_time_s\":%d.%06d}\n" \$SLURM_PROCID \$step \$((took / 1000000)) \$((took % 1000000))
  [ \$SLURM_PROCID = 0 ] || continue
  echo \$step >\$at.new && mv \$at.new \$at
done
[ \$SLURM_PROCID != 0 ] || echo "\$SLURM_JOB_NAME \$SLURM_JOB_ID \$(date +%s.%N)" >>$WORK/ends'
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
submit mine-slow 200 --no-requeue --nodes=1 --ntasks=3 --gres=gpu:a100:3
theirs=$(squeue --noheader --name=theirs --format=%A)
other=$(sbatch --parsable --uid=nobody -D /tmp -o /dev/null -J mine-other --requeue --gres=gpu:a100:1 --wrap 'sleep 900')
running() { [ "$(squeue --noheader --states=RUNNING --format=%A | wc -l)" = "$1" ]; }
check "all of them run" within 20 running 8

check "a configuration that allows everything is refused" bash -c "sed 's/^allow.*//' operate.yaml >all.yaml; ! '$KNEE' operate all.yaml --once"
check "a dry turn ends well" "$KNEE" operate operate.yaml --once
check "and has changed nothing" exactly turns/audit.jsonl '"command"' 0
touch PAUSE
check "a paused turn ends well" "$KNEE" operate operate.yaml --once --confirm
check "and has changed nothing" exactly turns/audit.jsonl '"command"' 0
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
# One of three workers runs for a tenth of the time, and one job stands still.
sed -i 's/"20\([0-9][0-9]-\)/"21\1/' turns/state.json
holds turns/state.json '"21[0-9][0-9]-' 1 || { cat turns/state.json; exit 1; }
slow=$(cat mine-slow.1.pid)
while kill -STOP $slow 2>/dev/null; do sleep 0.9; kill -CONT $slow 2>/dev/null; sleep 0.1; done &
start
set_right() { ! grep '"21[0-9][0-9]-' turns/state.json; }
check "times a century ahead, of a clock that was wrong, do not stay" within 30 set_right
proposed() { grep '"proposal"' turns/audit.jsonl | grep "\"kind\":\"$1\"" | grep "\"name\":\"$2\""; }
check "the slow worker is named" within 60 proposed straggler mine-slow
kill -STOP "$(cat mine-norequeue.0.pid)"
check "the job that stands still is, too" within 60 proposed silent mine-norequeue
kill -CONT "$(cat mine-norequeue.0.pid)"
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
# The clock of the loop alone is set, while it runs.
if [ "$(uname -m)" = x86_64 ]; then
	(cd "$CLONE" && CGO_ENABLED=0 go build -o "$WORK/clock" ./test/engines/clock)
	jumps() { # jumps SECONDS: the clock is set, the loop says so, and turns end well
		local well
		well=$(grep -L '"error"' turns/*/outcome.json | wc -l)
		./clock $loop "$1" && within 30 holds loop.err "clock of this machine was set by $2" 1 && within 30 more $((well + 3))
	}
	more() { [ "$(grep -L '"error"' turns/*/outcome.json | wc -l)" -ge "$1" ]; }
	check "turns go on when the clock is set a day ahead" jumps 86400 24h0m
	check "and when it is set back" jumps 0 -24h0m
	check "no job is taken for silent because of that" bash -c "! grep '\"kind\":\"silent\"' turns/audit.jsonl | grep -v mine-norequeue"
else
	echo "skip  a clock that jumps: test/engines/clock is for x86_64"
fi
ended() { [ "$(cut -d' ' -f1 ends | sort -u | wc -l)" = 8 ]; }
check "every job comes to its end but the one that was cancelled" within 400 ended
stop_hard
cat turns/*/outcome.json | grep -o '"status": *"[a-z ]*"' | sort | uniq -c

check "no job ended twice" test "$(wc -l <ends)" = 8
check "no job has another id than at first" bash -c "cut -d' ' -f2 ends | sort | comm -23 - <(sort ids) | wc -l | grep -qx 0"
alone() { [ "$(squeue --noheader --format=%A)" = "$other" ]; }
check "no job is left but the one of another user" within 120 alone
check "which no command concerned" exactly turns/audit.jsonl "\"job\":\"$other\"" 0
check "the jobs of others were not touched" exactly turns/audit.jsonl "\"job\":\"$theirs\"" 0
check "nor those that may not be requeued" bash -c "! grep '\"command\"' turns/audit.jsonl | grep 'mine-norequeue\|mine-slow'"
check "jobs whose speed is not that of their model got one of their own" bash -c "cat turns/*/outcome.json | grep -q '\"kind\": \"refit\"'"
check "a job has run with more tasks than it began with" bash -c "cat sizes | sort -u | grep -q '^mine-1 [2-8]$'"
check "jobs were changed" bash -c "cat turns/*/outcome.json | grep -q '\"status\": \"done\"'"
check "no turn made more changes than it may" bash -c "for f in turns/*/outcome.json; do [ \$(grep -c '\"status\": \"done\"' \$f) -le 6 ] || exit 1; done"
asked=$(grep -c '"answered":false' turns/audit.jsonl) answered=$(grep -c '"answered":true' turns/audit.jsonl)
check "every command has its answer but those in which knee was killed: $asked, $answered" test $((asked - answered)) -le 2

