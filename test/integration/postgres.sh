# Several profiles share a study in a real PostgreSQL: one is killed, and the
# server goes away in the middle.
. "$(dirname "$0")/lib.sh"
cd "$WORK"

# The package would make and start a cluster of its own.
if [ "$(id -u)" = 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ] && ! command -v psql >/dev/null; then
	mkdir -p /etc/postgresql-common
	echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
fi
need postgresql psql
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || bin=$(dirname "$(readlink -f "$(command -v initdb || echo /nowhere/initdb)")")
[ -x "$bin/initdb" ] || skip "initdb is not to be found"

# The server refuses to run as root.
as() {
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
mkdir server
if [ "$(id -u)" = 0 ]; then chown postgres server; fi
db=$WORK/server
port=$("$CLONE/test/free_port")
start_server() {
	as "$bin/postgres" -D "$db/data" -k "$db" -p $port -c listen_addresses=127.0.0.1 >>server.log 2>&1 &
	within 30 "$bin/pg_isready" -q -h "$db" -p $port
}
stop_server() { # fast: connections are cut, nothing is lost
	as kill -INT "$(head -1 "$db/data/postmaster.pid")"
	within 30 test ! -e "$db/data/postmaster.pid"
}
as bash -c 'echo hunter2 >"$2/password" && "$1/initdb" -D "$2/data" --locale=C --encoding=SQL_ASCII -U knee -A scram-sha-256 --pwfile="$2/password"' - "$bin" "$db" >initdb.log 2>&1 ||
	{ cat initdb.log; exit 1; }
started=()
cleanup() {
	for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	[ ! -e "$db/data/postmaster.pid" ] || stop_server
}
trap cleanup EXIT
start_server || { cat server.log; exit 1; }
export PGPASSWORD=hunter2
query() { psql -h "$db" -p $port -U knee -d study -At -c "$1"; }
"$bin/createdb" -h "$db" -p $port -U knee study

cat >train.sh <<'EOF' # which ends once there is a file go, or one of its number
for i in $(seq 60); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.02$((i * 7 % 5)),\"loss\":1.5}"
	sleep 0.02111
done
until [ -e go ] || [ -e go.$KNEE_TRIAL ]; do sleep 0.02111; done
EOF
cat >study.yaml <<EOF
job: shared
command: [bash, train.sh]
space: {workers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
objective: accuracy
budget: {trials: 12}
trial: {rel_precision: 0.0001, max_seconds: 600, min_steps: 1000}
storage: postgres://knee:hunter2@127.0.0.1:$port/study
EOF
profile() { # profile NAME: on a "host" of its own
	mkdir "$1"
	"$KNEE" profile study.yaml --strategy random --dir "$1" --lease 4s >"$1/out" 2>"$1/err" &
	started+=($!)
}
profile a
profile b
profile c
begun() { within 30 holds $1/err 'trial started' 1 || { cat $1/err; false; }; }
for name in a b c; do check "profile $name of a database that was made without a locale begins" begun $name; done

victim=$(query "SELECT number FROM knee_trials WHERE state = 'running' AND owner LIKE '%process ${started[0]},%'")
kill -9 "${started[0]}"
wait "${started[0]}" 2>/dev/null || true
touch go.{1..6}
both() { [ "$(query "SELECT count(*) FROM knee_trials WHERE state = 'running' AND number > 6")" = 2 ]; }
check "the others go on" within 60 both
stop_server
touch go # the running trials end meanwhile
kept() { ls b c | grep undelivered; }
check "what ends while the server is away is kept in files" within 20 kept
within 20 holds b/err 'storage lost' 1
start_server
code=0
wait "${started[1]}" || code=$?
check "a profile survives the death of another and of the server" test $code = 0
wait "${started[2]}" || code=$?
check "so does a third" test $code = 0
check "and has been delivered" bash -c '! ls b c | grep undelivered'
check "the log says that the server came back" bash -c 'grep -q "the database answers again" b/err c/err'
check "the trial of the dead was taken over by one of the others" test "$(cat b/err c/err | grep 'trial taken over' | grep -c "trial $victim,")" -ge 1
for name in b c; do
	check "profile $name has all measurements" exactly $name/study.measurements.csv ',ok,' 12
done
check "both wrote the same" bash -c 'diff <(sort b/study.measurements.csv) <(sort c/study.measurements.csv)'
check "12 trials for 12 configurations, none twice" test "$(query "SELECT count(*), count(DISTINCT config), max(number) FROM knee_trials")" = "12|12|12"
check "none is left running" test "$(query "SELECT count(*) FROM trials WHERE state <> 'COMPLETE'")" = 0
check "goptuna's values are finite and positive" test "$(query "SELECT count(*) FROM trials WHERE value > 0")" = 12
check "no process is left" no_process "sleep 0.02111"
check "no password in any output" bash -c '! grep -r hunter2 a b c'

# Interrupted while it waits for others, it ends.
query "UPDATE knee_trials SET state = 'running', owner = 'another', beat = extract(epoch from now()), lease_s = 3600 WHERE number = 5" >/dev/null
mkdir waits
"$KNEE" profile study.yaml --dir waits >waits/out 2>waits/err &
started+=($!)
within 10 holds waits/err continuing 1
kill -TERM ${started[3]}
code=0
wait "${started[3]}" || code=$?
check "one that waits for another's trial ends on the first interrupt" test $code = 130

stop_server
"$KNEE" profile study.yaml --dir d >out 2>err &
started+=($!)
within 10 holds err 'cannot be reached' 1
kill -TERM ${started[4]}
code=0
wait "${started[4]}" || code=$?
check "a server that is not there is waited for, until the first interrupt" test $code = 130
check "and is named, without the password" bash -c 'grep -q "storage postgres://knee:xxxxx@127.0.0.1:.*cannot be reached.*refused" err && ! grep -q hunter2 err'
