package operate

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"knee/data"
	"knee/operate/queue"
)

// Metrics holds the Prometheus metrics of a loop.
type Metrics struct {
	registry *prometheus.Registry
	turns    *prometheus.CounterVec
	changes  *prometheus.CounterVec
	jobs     *prometheus.GaugeVec
	stepTime *prometheus.GaugeVec
	models   *prometheus.CounterVec
	propose  *prometheus.GaugeVec
	last     prometheus.Gauge
	took     prometheus.Gauge
}

// NewMetrics returns metrics without values.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		turns:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "knee_turns_total", Help: "Turns of the loop."}, []string{"result"}),
		changes:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "knee_changes_total", Help: "Changes of jobs by outcome; planned are those of a dry run."}, []string{"action", "status"}),
		jobs:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "knee_jobs", Help: "Jobs of the queue, and those that can be planned."}, []string{"kind"}),
		stepTime: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "knee_step_time_seconds", Help: "Step time of jobs that stay as they are."}, []string{"job", "kind"}),
		models:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "knee_models_total", Help: "Models of single jobs: refit or borrowed."}, []string{"kind"}),
		propose:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "knee_proposals", Help: "Jobs that an operator should look at."}, []string{"kind"}),
		last:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "knee_last_turn_timestamp_seconds", Help: "When the last turn began."}),
		took:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "knee_last_turn_seconds", Help: "How long the last turn took."}),
	}
	m.registry.MustRegister(m.turns, m.changes, m.jobs, m.stepTime, m.models, m.propose, m.last, m.took)
	return m
}

// Handler serves the metrics in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *Metrics) turn(out *Outcome, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.turns.WithLabelValues(result).Inc()
	m.took.Set(took.Seconds())
	if out == nil {
		return
	}
	m.last.Set(float64(out.At.Unix()))
	m.jobs.WithLabelValues("all").Set(float64(out.Jobs))
	m.jobs.WithLabelValues("planned").Set(float64(out.Planned))
	for _, u := range out.Updates {
		m.models.WithLabelValues(u.Kind).Inc()
	}
	m.propose.Reset()
	for _, p := range out.Proposals {
		m.propose.WithLabelValues(p.Kind).Inc()
	}
	for _, c := range out.Changes {
		m.changes.WithLabelValues(string(c.Action), string(c.Status)).Inc()
	}
}

// speeds sets the measured and predicted step times of jobs that the plan keeps.
func (m *Metrics) speeds(rows []queue.Row, p *data.Plan) {
	m.stepTime.Reset()
	measured := map[string]float64{}
	for _, r := range rows {
		measured[r.ID] = r.StepTime
	}
	for _, j := range p.Jobs {
		batch := j.LocalBatch * float64(j.Workers) * float64(j.AccumSteps+1)
		if t := measured[j.ID]; j.Action == data.Keep && t > 0 && j.Throughput.Mean > 0 && batch > 0 {
			m.stepTime.WithLabelValues(j.Name, "measured").Set(t)
			m.stepTime.WithLabelValues(j.Name, "predicted").Set(batch / j.Throughput.Mean)
		}
	}
}
