package trainer

import (
	"bytes"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestVectorsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64(), 1, 40).Draw(t, "v")
		step := rapid.Int64Range(0, math.MaxInt64).Draw(t, "step")
		a, b := net.Pipe()
		from, to := newLink(a, "a", time.Second), newLink(b, "b", time.Second)
		got := make([]float64, len(v))
		if err := concurrently(2, func(i int) error {
			if i == 0 {
				return from.send(step, v)
			}
			return to.receive(step, got, true)
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
	from, to := newLink(a, "a", time.Second), newLink(b, "worker 3 (h:1)", time.Second)
	one := make([]float64, 1)
	go func() { _ = from.send(4, one); _ = from.bye() }()
	if err := to.receive(5, one, false); err == nil || !strings.Contains(err.Error(), "worker 3 (h:1) broke the protocol: it sent 1 numbers of step 4, want 1 of step 5") {
		t.Errorf("error %v", err)
	}
	_, _ = to.read(8) // the number
	if err := to.receive(5, one, false); err != errBye {
		t.Errorf("error %v, want a goodbye", err)
	}
	to.timeout = 10 * time.Millisecond
	if err := to.receive(5, one, false); err == nil || err.Error() != "worker 3 (h:1) did nothing for 10ms during step 5" {
		t.Errorf("error %v", err)
	}
	a.Close()
	to.timeout = time.Second
	if err := to.receive(5, one, false); err == nil || !strings.HasPrefix(err.Error(), "worker 3 (h:1) left during step 5: ") {
		t.Errorf("error %v", err)
	}
}

// reading is a connection that only reads.
type reading struct {
	net.Conn
	from *bytes.Reader
}

func (r reading) Read(b []byte) (int, error)      { return r.from.Read(b) }
func (r reading) SetReadDeadline(time.Time) error { return nil }

func FuzzReceive(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	f.Add([]byte("\x05\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x000123456789abcdef"))
	f.Add(make([]byte, headerSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := make([]float64, 2)
		err := newLink(reading{from: bytes.NewReader(b)}, "a", time.Second).receive(5, got, false)
		if whole := len(b) >= headerSize+16 && string(b[:headerSize]) == "\x05\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"; whole != (err == nil) {
			t.Errorf("% x: %v, %v", b, got, err)
		}
	})
}
