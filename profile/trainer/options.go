package trainer

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/data"
)

// Role is the task of a process in the job.
type Role string

const (
	Worker Role = "worker" // computes gradients
	Server Role = "ps"     // holds a slice of the parameters
)

// Options describes one process of a job; they differ between processes only in Role, Rank and
// PSRank. The zero value is a complete job: one worker, no network, the small model.
type Options struct {
	Role   Role // Worker if empty
	Rank   int  // 0..k−1 for workers, k..k+p−1 for servers
	PSRank int  // 0..p−1, for servers

	Workers    int      // k; 0 means 1
	PS         int      // p; 0 for allreduce, at least 1 for the ps modes
	PSHosts    []string // host:port of every server, in order
	MasterAddr string   // host of rank 0; "127.0.0.1" if empty
	MasterPort int      // port rank 0 listens on; needed for allreduce of several workers

	Mode         data.Mode // allreduce if empty
	Model        string    // "small" (default) or "large"
	MessageBytes int64     // least size of a gradient; no effect below the model's size
	InputRate    float64   // samples/s that storage delivers to each worker; 0 means no limit
	LocalBatch   float64   // samples per worker per micro-step; 0 means 32. With fractions, round(workers × local batch) samples are divided as evenly as possible
	AccumSteps   int       // extra accumulation micro-steps
	InitialBatch float64   // global batch at which gradient variance is reported; 0 means the job's

	Checkpoint string // file that rank 0 writes every second and at the end, and continues from; empty for none. Not with servers
	AllRanks   bool   // every worker prints its steps, with its rank

	Steps int   // optimizer steps of the job (ps-async: updates by all workers); 0 means until stopped
	Seed  int64 // of data and initial parameters

	Rendezvous time.Duration // time for all ranks to connect; 0 means 1 min
}

// The learning rate per update grows from baseRate to maxRateScale times that, at 128 samples.
const (
	baseRate       = 0.06
	referenceBatch = 32
	maxRateScale   = 2
)

// FromEnv returns the options in environment variables: KNEE_ROLE, RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT, KNEE_WORKERS, KNEE_PS, KNEE_PS_HOSTS, KNEE_PS_RANK, KNEE_MODE,
// KNEE_LOCAL_BATCH, KNEE_ACCUM_STEPS, KNEE_INITIAL_BATCH. Without KNEE_WORKERS, as under
// torchrun, every rank that is not a server is a worker. [Run] checks the values. The error
// is a [data.InputError] that names the variable.
func FromEnv(getenv func(string) string) (Options, error) {
	o := Options{Role: Role(getenv("KNEE_ROLE")), Mode: data.Mode(getenv("KNEE_MODE")), MasterAddr: getenv("MASTER_ADDR")}
	var err error
	bad := func(name, found, want string) {
		err = cmp.Or(err, error(&data.InputError{Source: data.Source{File: "environment", Column: name}, Found: strconv.Quote(found), Want: want}))
	}
	world, rank := 0, -1
	for _, v := range []struct {
		name string
		to   any
	}{{"KNEE_WORKERS", &o.Workers}, {"KNEE_PS", &o.PS}, {"KNEE_PS_RANK", &o.PSRank}, {"MASTER_PORT", &o.MasterPort},
		{"KNEE_ACCUM_STEPS", &o.AccumSteps}, {"WORLD_SIZE", &world}, {"RANK", &rank}, {"KNEE_LOCAL_BATCH", &o.LocalBatch}, {"KNEE_INITIAL_BATCH", &o.InitialBatch}} {
		s := getenv(v.name)
		if s == "" {
			continue
		}
		switch to := v.to.(type) {
		case *int:
			n, wrong := strconv.Atoi(s)
			if *to = n; wrong != nil || n < 0 {
				bad(v.name, s, "a whole number ≥ 0")
			}
		case *float64:
			n, ok := data.Samples().Parse(s)
			if *to = n; !ok {
				bad(v.name, s, "a number of samples > 0")
			}
		}
	}
	o.Workers = cmp.Or(o.Workers, max(world-o.PS, 1))
	if world > 0 && world != o.Workers+o.PS {
		bad("WORLD_SIZE", strconv.Itoa(world), fmt.Sprintf("%d, the sum of KNEE_WORKERS = %d and KNEE_PS = %d", o.Workers+o.PS, o.Workers, o.PS))
	}
	o.PSHosts = strings.FieldsFunc(getenv("KNEE_PS_HOSTS"), func(r rune) bool { return r == ',' || r == ' ' })
	if o.Role == Server {
		o.Rank = o.Workers + o.PSRank
	}
	if rank >= 0 {
		o.Rank = rank
	}
	return o, err
}

// Bind defines a flag for every option, with the values of o as defaults.
func (o *Options) Bind(fs *flag.FlagSet) {
	o.setDefaults()
	fs.StringVar(&o.Model, "model", o.Model, "model to train: small or large")
	fs.Float64Var(&o.InputRate, "input-rate", o.InputRate, "samples/s that storage delivers to each worker; 0 delivers at once")
	fs.Func("message-bytes", "size of a gradient in `bytes`, such as 4Mi; padded with zeros beyond the model's own", func(s string) (err error) {
		o.MessageBytes, err = data.ParseQuantity(s)
		return err
	})
	fs.StringVar(&o.Checkpoint, "checkpoint", o.Checkpoint, "`file` that rank 0 writes every second, and goes on from; not with parameter servers")
	fs.BoolVar(&o.AllRanks, "all-ranks", o.AllRanks, "every worker prints its steps, with its rank")
	fs.IntVar(&o.Steps, "steps", o.Steps, "optimizer `steps`; 0 trains until stopped")
	fs.Int64Var(&o.Seed, "seed", o.Seed, "seed of data and initial parameters")
	fs.Float64Var(&o.LocalBatch, "local-batch", o.LocalBatch, "`samples` per worker per micro-step")
	fs.Float64Var(&o.InitialBatch, "initial-batch", o.InitialBatch, "global batch that gradient variance is reported at; 0 is the job's own")
}

func (o *Options) setDefaults() {
	o.Role, o.Workers = cmp.Or(o.Role, Worker), cmp.Or(o.Workers, 1)
	o.MasterAddr = cmp.Or(o.MasterAddr, "127.0.0.1")
	o.Mode, o.Model = cmp.Or(o.Mode, data.AllReduce), cmp.Or(o.Model, "small")
	o.LocalBatch = cmp.Or(o.LocalBatch, referenceBatch)
	o.Rendezvous = cmp.Or(o.Rendezvous, time.Minute)
}

func (o *Options) validate() error {
	check := func(ok bool, name string, found any, want string) error {
		if ok {
			return nil
		}
		return &data.InputError{Source: data.Source{File: "options", Column: name}, Found: fmt.Sprint(found), Want: want}
	}
	_, badModel := modelShape(o.Model)
	_, badMode := data.ParseMode(string(o.Mode))
	badHost := slices.IndexFunc(o.PSHosts, func(h string) bool { _, port, err := net.SplitHostPort(h); return err != nil || port == "" })
	return cmp.Or(badModel, badMode,
		check(o.Role == Worker || o.Role == Server, "role (KNEE_ROLE)", o.Role, "worker or ps"),
		check(o.Mode.UsesPS() || o.PS == 0, "ps (KNEE_PS)", o.PS, "0, because mode allreduce has no parameter servers"),
		check(!o.Mode.UsesPS() || o.PS > 0, "ps (KNEE_PS)", o.PS, fmt.Sprintf("at least 1, because mode is %s", o.Mode)),
		check(len(o.PSHosts) == o.PS && badHost < 0, "KNEE_PS_HOSTS", strings.Join(o.PSHosts, ","), fmt.Sprintf("one host:port for each of %d servers", o.PS)),
		check(o.Role == Server || o.Rank >= 0 && o.Rank < o.Workers, "rank (RANK)", o.Rank, fmt.Sprintf("0 to %d for a worker", o.Workers-1)),
		check(o.Role == Worker || o.PSRank < o.PS && o.Rank == o.Workers+o.PSRank, "rank (RANK)", o.Rank, fmt.Sprintf("%d for server %d of %d", o.Workers+o.PSRank, o.PSRank, o.PS)),
		check(o.PS > 0 || o.Workers == 1 || o.MasterPort > 0 && o.MasterPort < 1<<16, "MASTER_PORT", o.MasterPort, "a port from 1 to 65535"),
		check(o.LocalBatch > 0 && o.LocalBatch < 1<<31, "local-batch (KNEE_LOCAL_BATCH)", o.LocalBatch, "samples > 0"),
		check(o.microBatch() >= o.Workers, "local-batch (KNEE_LOCAL_BATCH)", o.LocalBatch, "at least one sample for every worker"),
		check(o.InitialBatch >= 0 && !math.IsInf(o.InitialBatch, 0), "initial-batch (KNEE_INITIAL_BATCH)", o.InitialBatch, "samples ≥ 0"),
		check(o.Checkpoint == "" || o.PS == 0, "checkpoint", o.Checkpoint, "none, because parameter servers write none"),
		check(o.Steps >= 0, "steps", o.Steps, "a count"),
		check(o.InputRate >= 0 && !math.IsInf(o.InputRate, 0), "input-rate", o.InputRate, "samples/s ≥ 0"),
		check(o.MessageBytes >= 0 && o.MessageBytes <= maxMessage, "message-bytes", o.MessageBytes, fmt.Sprintf("0 to %d bytes", int64(maxMessage))),
	)
}

// maxMessage bounds the gradient: package gob refuses messages of 1 GiB.
const maxMessage = 1 << 29

// microBatch returns the samples of one micro-step over all workers.
func (o *Options) microBatch() int { return int(math.Round(float64(o.Workers) * o.LocalBatch)) }

func (o *Options) globalBatch() int { return o.microBatch() * (o.AccumSteps + 1) }

// share is the interval of worker rank in the micro-batch, even to one sample.
func (o *Options) share(rank int) (lo, hi int) { return slice(o.microBatch(), o.Workers, rank) }

// updateBatch is the samples of an update: in ps-async the share of one worker.
func (o *Options) updateBatch(rank int) int {
	if o.Mode == data.PSAsync {
		lo, hi := o.share(rank)
		return (hi - lo) * (o.AccumSteps + 1)
	}
	return o.globalBatch()
}

// learningRate returns the rate of an update of batch samples: with its square root the variance
// of an update stays constant (Krizhevsky, "One weird trick for parallelizing convolutional
// neural networks", 2014). Beyond 128 samples the curvature of the loss bounds the rate.
func (o *Options) learningRate(batch int) float64 {
	return baseRate * min(math.Sqrt(float64(batch)/referenceBatch), maxRateScale)
}

func (o *Options) name(rank int) string {
	if rank >= o.Workers {
		return fmt.Sprintf("server %d", rank-o.Workers)
	}
	return fmt.Sprintf("worker %d", rank)
}

// slice returns the interval of part i of n elements, even to one.
func slice(n, parts, i int) (lo, hi int) {
	return int(int64(n) * int64(i) / int64(parts)), int(int64(n) * int64(i+1) / int64(parts))
}
