# The disk of the journal fills up in the middle of a study.
. "$(dirname "$0")/lib.sh"
cd "$WORK"
mkdir small
mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || skip "a small file system cannot be mounted (not root, or not allowed)"
trap 'umount "$WORK/small"' EXIT

cat >train.sh <<'EOF'
for i in $(seq 60); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.00$((i * 7 % 5 + 1)),\"loss\":1.5}"
	sleep 0.003
done
# The third trial fills the disk, so that its end finds no room.
[ "$KNEE_TRIAL" != 3 ] || [ -e freed ] || cat /dev/zero >small/filler 2>/dev/null || true
sleep 0.3
EOF
cat >study.yaml <<'EOF'
job: disk
command: [bash, train.sh]
space: {workers: [1, 2, 3, 4]}
objective: accuracy
budget: {trials: 4}
trial: {rel_precision: 0.0001, max_seconds: 600, min_steps: 1000}
EOF
code=0
"$KNEE" profile study.yaml --dir small -o csv >first.csv 2>first.log || code=$?
check "a full disk ends the profile with 1" test $code = 1
check "the message names the file and why" grep -q 'write the journal small/study.journal.jsonl: .*no space left on device' first.log
cut -c1-160 first.log | grep '^knee:'
check "what was measured before is in the journal" holds small/study.journal.jsonl '"event":"end"' 2
check "the third trial is in the journal or in the message" bash -c 'cat first.log small/study.journal.jsonl | grep -q "\"event\":\"end\",\"trial\":3"'
check "every line of the journal is whole" bash -c 'tail -c1 small/study.journal.jsonl | cmp - <(echo)'
rm small/filler
touch freed
check "with room again it goes on" bash -c '"$KNEE" profile study.yaml --dir small -o csv >second.csv 2>second.log || { cat second.log; false; }'
check "all is measured" exactly small/study.measurements.csv ',ok,' 4
