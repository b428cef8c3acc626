package plots

import (
	"bytes"
	"math"
	"testing"
)

// crowdPoints is how many points the benchmarks draw.
const crowdPoints = 10_000

// BenchmarkRender is the time to draw a figure of ten thousand points, by
// format:
//
//	go test ./plots -run '^$' -bench Render -benchtime 5x
func BenchmarkRender(b *testing.B) {
	s := Series{Name: "a100, allreduce"}
	for i := range crowdPoints {
		x := 1 + float64(i%512)
		s.Points = append(s.Points, Point{X: x, Y: 100 * x / (1 + 0.01*x) * (1 + 0.1*math.Sin(float64(i)))})
	}
	stairs := gainsSample(100, crowdPoints)
	figures := map[string]func() (Figure, error){
		"scalability": func() (Figure, error) {
			return NewScalability(Scalability{Title: "crowd", Quantity: Throughput, Series: []Series{s}, Ideal: true})
		},
		"usage":       func() (Figure, error) { return NewOccupancy("", occupancySample(crowdPoints)) },
		"gains":       func() (Figure, error) { return stairs.draw() },
		"convergence": func() (Figure, error) { return convergenceSample(crowdPoints).draw() },
	}
	for name, newFigure := range figures {
		for _, format := range Formats() {
			b.Run(name+"/"+format, func(b *testing.B) {
				for b.Loop() {
					fig, err := newFigure()
					if err != nil {
						b.Fatal(err)
					}
					var out bytes.Buffer
					if err := Render(&out, format, fig); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
