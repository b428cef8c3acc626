package fit

import (
	"math"

	"knee/data"
)

// ParameterServer is this project's form for parameter-server training.
//
//	C = Fixed + Compute·(M/RefGlobal)/k + Transfer·k^WorkersPower·p^−ServersPower
//	    + PerWorker·k + PerServer·p
//
// with k workers, p servers and M samples per step. In ps-sync C is the step
// time. In ps-async every worker goes around such a cycle at its own pace
// with its own share (the k under Compute is then 1), and the job makes k
// updates per cycle: T = C/k.
//
// Optimus (EuroSys'18, section 3.2) has the same terms with both powers
// fixed to one; measured transfers grow more slowly.
type ParameterServer struct {
	Fixed        float64 // s
	Compute      float64 // s for one worker to compute RefGlobal samples
	RefGlobal    float64 // samples per step; per update in ps-async
	Transfer     float64 // s for one worker and one server to exchange gradients and parameters
	WorkersPower float64
	ServersPower float64
	PerWorker    float64 // s per worker
	PerServer    float64 // s per server
	Async        bool
	fixedGlobal  bool // what an unknown batch means
}

// StepTime implements [StepTimer].
func (t *ParameterServer) StepTime(c data.Config) float64 {
	p := pointOf(c, scale{batch: t.RefGlobal, global: t.RefGlobal, fixed: t.fixedGlobal})
	step, _ := t.logTimes(&p)
	return math.Exp(step)
}

func (t *ParameterServer) logTimes(p *point) (step, compute float64) {
	work, transfer := t.terms(p)
	cycle := t.Fixed + work + transfer + t.PerWorker*p.workers + t.PerServer*p.servers
	step = math.Log(cycle)
	if t.Async {
		step -= p.lnWorkers
	}
	return step, math.Log(t.Fixed+work) - math.Log1p(p.accum)
}

// terms returns the seconds of a cycle that grow with the batch, and those
// of the exchange with the servers.
func (t *ParameterServer) terms(p *point) (work, transfer float64) {
	shares := p.workers
	if t.Async {
		shares = 1
	}
	return t.Compute * p.global / t.RefGlobal / shares,
		t.Transfer * math.Exp(t.WorkersPower*p.lnWorkers-t.ServersPower*p.lnServers)
}

func (t *ParameterServer) params() []Param {
	return []Param{
		param("fixed", "s", t.Fixed),
		param("compute", "s", t.Compute),
		param("transfer", "s", t.Transfer),
		param("workers_power", "", t.WorkersPower),
		param("servers_power", "", t.ServersPower),
		param("per_worker", "s/worker", t.PerWorker),
		param("per_server", "s/ps", t.PerServer),
	}
}

// serverForm scales ParameterServer to one set of measurements.
type serverForm struct {
	s     scale
	async bool
	time  float64 // s, the typical cycle
}

func newServerForm(mode data.Mode, pts []point, s scale) form {
	f := &serverForm{s: s, async: mode == data.PSAsync, time: s.step}
	if f.async {
		// The typical cycle: updates are k times as frequent as cycles.
		var ln float64
		for i := range pts {
			ln += pts[i].lnWorkers / float64(len(pts))
		}
		f.time *= math.Exp(ln)
	}
	return f
}

func (f *serverForm) name() string { return "ps" }

func (f *serverForm) bind(x []float64) curve {
	return &ParameterServer{
		Fixed: f.time * math.Exp(x[0]), Compute: f.time * math.Exp(x[1]), RefGlobal: f.s.global,
		Transfer: f.time * math.Exp(x[2]), WorkersPower: x[3], ServersPower: x[4],
		PerWorker: f.time * math.Exp(x[5]), PerServer: f.time * math.Exp(x[6]),
		Async: f.async, fixedGlobal: f.s.fixed,
	}
}

// prior was set from what parameter-server training looks like over models:
// a third of a typical step is there anyway, another third is transfer, and
// coordination costs a percent or two per worker and less per server. The
// means of both powers and of the last term were chosen on four measured jobs,
// all of which gain.
func (f *serverForm) prior() prior {
	return prior{
		mean: []float64{-1, -1.5, -1, .7, .7, -4, -5},
		sd:   []float64{1, 1.5, 1, .25, .25, 1.2, 1.2},
	}
}

func (f *serverForm) starts() [][]float64 {
	mean := f.prior().mean
	return [][]float64{mean, shifted(mean, map[int]float64{0: -1, 2: 1})}
}

// gradient implements [gradienter]: each term's share of the cycle.
func (f *serverForm) gradient(x []float64, p *point, step, compute []float64) {
	t := f.bind(x).(*ParameterServer)
	work, transfer := t.terms(p)
	cycle := t.Fixed + work + transfer + t.PerWorker*p.workers + t.PerServer*p.servers
	step[0], step[1], step[2] = t.Fixed/cycle, work/cycle, transfer/cycle
	step[3], step[4] = step[2]*p.lnWorkers, -step[2]*p.lnServers
	step[5], step[6] = t.PerWorker*p.workers/cycle, t.PerServer*p.servers/cycle
	compute[0], compute[1] = t.Fixed/(t.Fixed+work), work/(t.Fixed+work)
}

func (f *serverForm) kernel() kernel { return serverKernel{} }
