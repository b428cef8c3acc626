# A profile of real training processes is killed in the middle, goes on, and
# is stopped by two interrupts.
. "$(dirname "$0")/lib.sh"
cd "$WORK"
cp "$KNEE" knee # whose processes are told from those of other subjects by their path
KNEE=$WORK/knee

"$KNEE" init study >/dev/null
sed -i 's/trials: 12/trials: 5/; s/max_seconds: 5/max_seconds: 1/' study/study.yaml
journal=study/study.journal.jsonl

# Kill the profiler, and only it, once two trials are in the journal.
"$KNEE" profile study/study.yaml >/dev/null 2>first.log &
pid=$!
within 60 holds $journal '"event":"end"' 2
sleep 0.5
kill -9 $pid
wait $pid 2>/dev/null || true
check "a killed profile kept its measurements" holds $journal '"event":"end"' 2
check "a killed profile left no process" no_process "$KNEE train"
check "it goes on where it was" bash -c '"$KNEE" profile study/study.yaml -o csv >resumed.csv 2>resumed.log && grep -q "continuing" resumed.log'
check "no trial was measured twice" exactly $journal '"event":"end"' 5

# Two interrupts in the middle of a second trial, which does not end by itself. Jobs of a script ignore SIGINT, as
# a terminal's do not; SIGTERM is treated alike.
journal=stopped/study.journal.jsonl
sed -i 's/trials: 5/trials: 1/' study/study.yaml
check "a trial is measured" "$KNEE" profile -q study/study.yaml --dir stopped
sed -i 's/trials: 1/trials: 2/; s/max_seconds: 1/max_seconds: 600/; s/rel_precision: 0.03/rel_precision: 0.00001/' study/study.yaml
"$KNEE" profile study/study.yaml --dir stopped >/dev/null 2>stopped.log &
pid=$!
within 60 holds $journal '"event":"start"' 2
interrupt_twice $pid stopped.log
code=0
wait $pid || code=$?
check "two interrupts end it with 130" test $code = 130
check "two interrupts leave no process" no_process "$KNEE train"
check "every line of the journal is whole" bash -c 'tail -c1 '$journal' | cmp - <(echo)'
check "every trial that began is accounted for" test "$(grep -c '"event":"start"' $journal)" = "$(grep -c '"event":"end"' $journal)"
