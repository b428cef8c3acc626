package form

import (
	"math"

	"knee/data"
)

// ParameterServer is knee's form for parameter-server training.
//
//	C = (Fixed + Compute·(M/RefGlobal)/k) ⊕ Transfer·k^WorkersPower·p^−ServersPower
//	    + Update·p^−ServersPower + PerWorker·k + PerServer·p
//
// with k workers, p servers, M samples per step, and x ⊕ y = (x^γ + y^γ)^(1/γ), of
// which the larger counts if the exchange overlaps with computation (γ = Overlap). In
// ps-sync C is the step time. In ps-async it is every worker's own cycle with its own
// samples (without the k under Compute), and the job makes k updates per cycle: T = C/k.
//
// Optimus (EuroSys'18, section 3.2) has the same terms with both powers and γ 1, and
// servers that update parameters for each worker, not once per step; measured
// transfers grow more slowly.
type ParameterServer struct {
	Fixed        float64 // s
	Compute      float64 // s for one worker to compute RefGlobal samples
	RefGlobal    float64 // samples per step; per update in ps-async
	Transfer     float64 // s for one worker and one server to exchange gradients and parameters
	Update       float64 // s for one server to update all parameters
	WorkersPower float64
	ServersPower float64
	PerWorker    float64 // s per worker
	PerServer    float64 // s per server
	Overlap      float64 // γ: 1 = exchange after computation, 10 = fully overlapped
	Async        bool
	fixedGlobal  bool // an unknown batch has the global batch RefGlobal
}

// StepTime implements [StepTimer].
func (t *ParameterServer) StepTime(c data.Config) float64 {
	return stepTime(t, c, Scale{Batch: t.RefGlobal, Global: t.RefGlobal, Fixed: t.fixedGlobal})
}

// LogTimes implements [Curve].
func (t *ParameterServer) LogTimes(p *Point) (step, compute float64) {
	work, transfer, update := t.terms(p)
	step = math.Log(powerSum(t.Fixed+work, transfer, t.Overlap) + update + t.PerWorker*p.Workers + t.PerServer*p.Servers)
	if t.Async {
		step -= p.LnWorkers
	}
	return step, math.Log(t.Fixed+work) - math.Log1p(p.Accum)
}

// terms returns the seconds of a cycle that grow with the batch, those of the exchange
// with the servers, and those in which these update their shares of the parameters.
func (t *ParameterServer) terms(p *Point) (work, transfer, update float64) {
	shares := p.Workers
	if t.Async {
		shares = 1
	}
	return t.Compute * p.Global / t.RefGlobal / shares,
		t.Transfer * math.Exp(p.LnLinks+t.WorkersPower*p.LnWorkers-t.ServersPower*p.LnServers),
		t.Update * math.Exp(-t.ServersPower*p.LnServers)
}

// Params implements [Fitted].
func (t *ParameterServer) Params() []Param {
	ps := []Param{
		param("fixed", "s", t.Fixed),
		param("compute", "s", t.Compute),
		param("transfer", "s", t.Transfer),
		param("workers_power", "", t.WorkersPower),
		param("servers_power", "", t.ServersPower),
		param("per_worker", "s/worker", t.PerWorker),
		param("per_server", "s/ps", t.PerServer),
		param("update", "s", t.Update),
	}
	if t.Overlap != 1 {
		ps = append(ps, param("overlap", "", t.Overlap))
	}
	return ps
}

// serverForm scales ParameterServer to one set of measurements. In ps-async
// the unit of time, s.Step, is the typical cycle of a worker.
type serverForm struct {
	s     Scale
	async bool
}

func newServer(mode data.Mode, _ []Point, s Scale, _ bool) Form {
	return &serverForm{s, mode == data.PSAsync}
}

func (f *serverForm) Names() []string {
	return []string{"fixed", "compute", "transfer", "workers_power", "servers_power", "per_worker", "per_server", "update"}
}

func (f *serverForm) Bind(x []float64) Curve {
	t := f.s.Step
	return &ParameterServer{
		Fixed: t * math.Exp(x[0]), Compute: t * math.Exp(x[1]), RefGlobal: f.s.Global,
		Transfer: t * math.Exp(x[2]), WorkersPower: x[3], ServersPower: x[4],
		PerWorker: t * math.Exp(x[5]), PerServer: t * math.Exp(x[6]), Update: t * math.Exp(x[7]),
		Overlap: f.overlap(), Async: f.async, fixedGlobal: f.s.Fixed,
	}
}

// overlap is γ of computing and the exchange.
func (f *serverForm) overlap() float64 {
	if f.s.Overlapped {
		return mostOverlap
	}
	return 1
}

func (f *serverForm) Starts() []map[string]float64 {
	return []map[string]float64{{}, {"fixed": -1, "transfer": 1}}
}

// Gradient implements [Form]: the terms' shares of the cycle.
func (f *serverForm) Gradient(x []float64) func(p *Point, step, compute []float64) {
	t := f.Bind(x).(*ParameterServer)
	return func(p *Point, step, compute []float64) {
		work, transfer, update := t.terms(p)
		both := powerSum(t.Fixed+work, transfer, t.Overlap)
		cycle := both + update + t.PerWorker*p.Workers + t.PerServer*p.Servers
		ofWork, ofTransfer := math.Pow((t.Fixed+work)/both, t.Overlap), math.Pow(transfer/both, t.Overlap)
		compute[0], compute[1] = t.Fixed/(t.Fixed+work), work/(t.Fixed+work)
		step[0], step[1], step[2] = both*ofWork*compute[0]/cycle, both*ofWork*compute[1]/cycle, both*ofTransfer/cycle
		step[3], step[4] = step[2]*p.LnWorkers, -(both*ofTransfer+update)/cycle*p.LnServers
		step[5], step[6], step[7] = t.PerWorker*p.Workers/cycle, t.PerServer*p.Servers/cycle, update/cycle
	}
}
