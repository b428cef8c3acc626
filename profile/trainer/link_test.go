package trainer

import (
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func TestVectorsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOf(rapid.Float64()).Draw(t, "v")
		a, b := net.Pipe()
		var step atomic.Int64
		from, to := newLink(a, "a", &step), newLink(b, "b", &step)
		got := make([]float64, len(v))
		if err := concurrently(2, func(i int) error {
			if i == 0 {
				return from.send(push{Gradient: packed(nil, v)})
			}
			p := push{Gradient: make(vector, 0, 8)}
			if err := to.receive(&p); err != nil {
				return err
			}
			return to.unpack(p.Gradient, got)
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, v) {
			t.Fatalf("got %v, want %v", got, v)
		}
	})
}

func TestLinkErrorsNamePeerAndStep(t *testing.T) {
	a, b := net.Pipe()
	var step atomic.Int64
	to := newLink(b, "worker 3 (h:1)", &step)
	go func() {
		_, _ = io.WriteString(a, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		a.Close()
	}()
	if err := to.receive(new(hello)); err == nil || !strings.HasPrefix(err.Error(), "worker 3 (h:1) left before the first step: ") {
		t.Errorf("error %v", err)
	}
	step.Store(5)
	if err := to.receive(new(hello)); err == nil || !strings.HasPrefix(err.Error(), "worker 3 (h:1) left during step 5: ") {
		t.Errorf("error %v", err)
	}
	want := "worker 3 (h:1) broke the protocol: it sent 16 bytes, want 1 numbers"
	if err := to.unpack(packed(nil, []float64{1, math.NaN()}), make([]float64, 1)); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}
