# What the scripts beside this file share. Sourced by bash.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
caches=${XDG_CACHE_HOME:-$HOME/.cache}/knee-engines

say() { echo "kubernetes: $*" >&2; }

# Rebuilding takes minutes, so the programs are kept for as long as what they
# are built from stays the same.
cache=$caches/kubernetes-$(cat "$here"/go.mod "$here"/go.sum "$here"/controlplane/*.go | sha256sum | cut -c1-16)

# fetch puts controlplane and etcd into the cache. Returns 77 where etcd
# cannot be had, which is reason to skip a test, not to fail it.
fetch() {
	mkdir -p "$cache"
	( # whoever comes second waits
		flock 9
		[ ! -x "$cache/controlplane" ] || exit 0
		say "building the control plane, once; this takes some minutes and 2 GB of memory"
		cd "$here"
		GOWORK=off CGO_ENABLED=0 nice -n 15 go build -trimpath -ldflags='-s -w' -o "$cache/controlplane.$$" ./controlplane
		mv "$cache/controlplane.$$" "$cache/controlplane"
	) 9>"$cache/lock"
	[ -x "$cache/etcd" ] && return
	local installed tmp
	if installed=$(command -v etcd); then
		ln -sf "$installed" "$cache/etcd"
		return
	fi
	if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
		say "etcd is not installed, and there is no apt-get to fetch it with; install etcd to run this"
		return 77
	fi
	tmp=$(mktemp -d)
	if ! (cd "$tmp" && { apt-get download etcd-server || { flock "${TMPDIR:-/tmp}/knee-apt.lock" apt-get update && apt-get download etcd-server; }; } >apt.log 2>&1 && dpkg -x etcd-server_*.deb .); then
		say "etcd is not installed, and apt-get download etcd-server fails:"
		tail -3 "$tmp/apt.log" >&2
		rm -rf "$tmp"
		return 77
	fi
	cp "$tmp/usr/bin/etcd" "$cache/etcd.$$" && mv "$cache/etcd.$$" "$cache/etcd"
	rm -rf "$tmp"
}

# start NAME COMMAND... runs a program of the engine in the background. Its
# output goes to $dir/NAME.log and its process id to $dir/NAME.pid.
start() {
	local name=$1
	shift
	"$@" >>"$dir/$name.log" 2>&1 </dev/null &
	echo $! >"$dir/$name.pid"
}

# running NAME tells whether the program still runs, and is still ours.
running() {
	local pid
	pid=$(cat "$dir/$1.pid" 2>/dev/null) && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$dir"
}

# stop NAME ends a program: asks, waits 10 s, insists.
stop() {
	local pid i
	running "$1" || return 0
	pid=$(cat "$dir/$1.pid")
	kill "$pid" 2>/dev/null || true
	for i in $(seq 100); do
		running "$1" || break
		[ "$i" = 100 ] && kill -9 "$pid" 2>/dev/null
		sleep 0.1
	done
	rm -f "$dir/$1.pid"
}

# await SECONDS WHAT COMMAND... waits until a command succeeds.
await() {
	local seconds=$1 what=$2 i
	shift 2
	for i in $(seq $((seconds * 25))); do # a slow machine gets five times as long
		"$@" >/dev/null 2>&1 && return
		sleep 0.2
	done
	say "$what did not come up within $((5 * seconds)) s; the logs are in $dir"
	return 1
}

free_port() { "$here/../../free_port"; }

# api PATH asks the API server as the administrator.
api() {
	curl -sSf --max-time 60 --cacert "$dir/certs/apiserver.crt" -H "Authorization: Bearer $(cat "$dir/token")" \
		"https://127.0.0.1:$(cat "$dir/apiserver.port")$1"
}

start_apiserver() {
	local port
	port=$(cat "$dir/apiserver.port")
	start apiserver "$cache/controlplane" kube-apiserver --etcd-servers="http://127.0.0.1:$(cat "$dir/etcd.port")" \
		--bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$port" --cert-dir="$dir/certs" \
		--service-cluster-ip-range=10.0.0.0/24 --service-account-issuer="https://127.0.0.1:$port" \
		--service-account-key-file="$dir/sa.key" --service-account-signing-key-file="$dir/sa.key" \
		--token-auth-file="$dir/tokens.csv" --authorization-mode=RBAC --disable-admission-plugins=ServiceAccount \
		--endpoint-reconciler-type=none --kubelet-preferred-address-types=InternalIP --profiling=false
	await 90 "the API server" api /readyz
}
