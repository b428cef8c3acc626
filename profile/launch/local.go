package launch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"knee/data"
	"knee/internal/nvidia"
)

// Local runs trials as processes of this machine.
//
// With Ranks it starts the command once per worker and once per parameter server, each with
// the environment of PyTorch and torchrun, extended for parameter servers: RANK 0…k−1 are
// workers, k…k+p−1 servers; docs/formats.md lists all variables. Without Ranks the command is
// started once, with the same KNEE_ variables, and starts its ranks itself.
//
// Every process leads a process group. When the trial ends, all groups are sent a termination
// signal and, after Grace, killed; the Watchdog kills them if this process dies first.
type Local struct {
	Ranks    bool
	Parser   Parser
	Grace    time.Duration // between SIGTERM and SIGKILL; 0 means 2 s
	Watchdog *Watchdog
}

func (l *Local) Launch(ctx context.Context, t Trial, obs chan<- Observation) error {
	log, err := openLog(t)
	if err != nil {
		return err
	}
	defer log.Close()
	specs, err := l.processes(t)
	if err != nil {
		return err
	}
	g := &group{launcher: l, trial: t, heard: newHeard(l.Parser, t, obs), log: bufio.NewWriterSize(log, 64<<10), ended: make(chan *process, len(specs))}
	gpus := watchGPUs(ctx, t.Config, log)
	err = g.run(ctx, specs)
	peak := gpus()
	if t.Used != nil {
		t.Used(max(peak.most, g.resident), peak.memory)
	}
	if failure, ok := errors.AsType[*Failure](err); ok && failure.Status == data.OOM && peak.text != "" {
		failure.Detail += "; " + peak.text
	}
	return err
}

func openLog(t Trial) (*os.File, error) {
	if len(t.Command) == 0 {
		return nil, errors.New("the study has no command to launch")
	}
	f, err := os.OpenFile(cmp.Or(t.Log, os.DevNull), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of the trial: %w", err)
	}
	return f, nil
}

type processSpec struct {
	name   string // "worker 0", "ps 1"
	rank   int    // UnknownRank if the process starts the ranks itself
	server bool
	env    []string
}

func (l *Local) processes(t Trial) ([]processSpec, error) {
	c := t.Config
	shared := sharedEnv(t)
	if !l.Ranks {
		return []processSpec{{name: "command", rank: UnknownRank, env: environ(shared, t.Env)}}, nil
	}
	ports, err := freePorts(1 + c.PS)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, c.PS)
	for i := range hosts {
		hosts[i] = net.JoinHostPort(loopback, strconv.Itoa(ports[1+i]))
	}
	shared["MASTER_ADDR"] = loopback
	shared["MASTER_PORT"] = strconv.Itoa(ports[0])
	shared["KNEE_PS_HOSTS"] = strings.Join(hosts, ",")
	shared["WORLD_SIZE"] = strconv.Itoa(c.Workers + c.PS)
	shared["LOCAL_WORLD_SIZE"] = strconv.Itoa(c.Workers + c.PS)
	if cpuOnly(c.GPUType) {
		// As with torchrun: otherwise the ranks compete for all cores, which hides the scaling.
		shared["OMP_NUM_THREADS"], shared["GOMAXPROCS"] = "1", "1"
	}
	var specs []processSpec
	// Servers first: workers may then connect at once.
	for j := range c.PS {
		specs = append(specs, processSpec{fmt.Sprintf("ps %d", j), c.Workers + j, true, environ(shared, rankEnv("ps", c.Workers+j, j), t.Env)})
	}
	for i := range c.Workers {
		specs = append(specs, processSpec{fmt.Sprintf("worker %d", i), i, false, environ(shared, rankEnv("worker", i, -1), t.Env)})
	}
	return specs, nil
}

const loopback = "127.0.0.1"

func rankEnv(role string, rank, server int) map[string]string {
	env := map[string]string{"KNEE_ROLE": role, "RANK": strconv.Itoa(rank), "LOCAL_RANK": strconv.Itoa(rank)}
	if server >= 0 {
		env["KNEE_PS_RANK"] = strconv.Itoa(server)
	}
	return env
}

func sharedEnv(t Trial) map[string]string {
	env := Contract(t.Config, t.InitialBatch)
	env["KNEE_TRIAL"] = strconv.Itoa(t.ID)
	// Python buffers a piped stdout, which would delay the step lines.
	env["PYTHONUNBUFFERED"] = "1"
	return env
}

// Contract is the KNEE_ variables of a configuration, and of an initial batch; see [Local].
func Contract(c data.Config, initialBatch float64) map[string]string {
	env := map[string]string{
		"KNEE_MODE":     string(c.ModeOrDefault()),
		"KNEE_WORKERS":  strconv.Itoa(c.Workers),
		"KNEE_PS":       strconv.Itoa(c.PS),
		"KNEE_NODES":    strconv.Itoa(c.NodeCount()),
		"KNEE_DP":       strconv.Itoa(c.Replicas()),
		"KNEE_GPU_TYPE": c.GPUType,
	}
	if c.LocalBatch > 0 {
		env["KNEE_LOCAL_BATCH"] = data.Number(c.LocalBatch).String()
		env["KNEE_GLOBAL_BATCH"] = data.Number(c.GlobalBatch()).String()
		env["KNEE_ACCUM_STEPS"] = strconv.Itoa(c.AccumSteps)
	}
	if initialBatch > 0 {
		env["KNEE_INITIAL_BATCH"] = data.Number(initialBatch).String()
	}
	for _, name := range data.LayoutNames() {
		env["KNEE_"+strings.ToUpper(name)] = c.Get(name)
	}
	for k, v := range c.Extra {
		env["KNEE_X_"+strings.ToUpper(k)] = v
	}
	return env
}

// environ is this process' environment, overridden by each of the layers.
func environ(layers ...map[string]string) []string {
	env := os.Environ()
	for _, layer := range layers {
		for k, v := range layer {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// Ports are below Linux' ephemeral ones, which outgoing connections could take before.
const (
	lowestPort = 20_000
	portRange  = 12_768
)

func freePorts(n int) ([]int, error) {
	var ports []int
	for range 100 + 20*n {
		if len(ports) == n {
			return ports, nil
		}
		port := lowestPort + rand.IntN(portRange)
		ln, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer ln.Close() // held until all are drawn, so that they differ
		ports = append(ports, port)
	}
	return nil, errors.New("find free ports for the trial: almost all from 20000 to 32767 are taken")
}

// watchGPUs samples this machine's GPUs during a trial on GPUs. stop writes peak memory and
// utilisation into the log, and returns the memory of the fullest one, zero if none was used.
func watchGPUs(ctx context.Context, c data.Config, log io.Writer) (stop func() gpuPeak) {
	if cpuOnly(c.GPUType) {
		return func() gpuPeak { return gpuPeak{} }
	}
	end, err := nvidia.Watch(ctx)
	if err != nil && !nvidia.Absent(err) { // the step times are valid without it
		_, _ = fmt.Fprintf(log, "[knee] GPU memory and use are not sampled: %v\n", err)
	}
	return func() (fullest gpuPeak) {
		if err != nil {
			return fullest
		}
		share := -1.0
		for _, p := range end() {
			if p.Busy <= 0 && p.Most == p.Used {
				continue // not used by this trial
			}
			text := fmt.Sprintf("GPU %d (%s): memory peak %s", p.Index, data.GPUTypeOf(p.Name), gibibytes(p.Most))
			if p.Memory > 0 {
				text += " of " + gibibytes(p.Memory)
			}
			busy := ""
			if p.Busy >= 0 {
				busy = fmt.Sprintf(", busy %.0f %% of the time", p.Busy)
			}
			_, _ = fmt.Fprintf(log, "[knee] %s%s\n", text, busy)
			if s := float64(p.Most) / float64(max(p.Memory, 1)); s > share {
				fullest, share = gpuPeak{text, float64(p.Most), float64(p.Memory)}, s
			}
		}
		return fullest
	}
}

type gpuPeak struct {
	text         string  // for the log
	most, memory float64 // bytes: peak in use, and total
}

func gibibytes(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
