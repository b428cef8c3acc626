package trainer

import (
	"bytes"
	"errors"
	"io"
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
		v := rapid.SliceOfN(rapid.Float64(), 0, 40).Draw(t, "v")
		step := rapid.Int64Range(0, math.MaxInt64).Draw(t, "step")
		a, b := net.Pipe()
		from, to := newLink(a, "a", time.Second), newLink(b, "b", time.Second)
		got := make([]float64, len(v))
		if err := concurrently(2, func(i int) error {
			if i == 0 {
				return from.sendVector(kindPush, step, v)
			}
			return to.receiveVector(kindPush, step, got, true)
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, v) {
			t.Fatalf("got %v, want %v", got, v)
		}
	})
}

func TestProtocolErrorsNamePeerAndStep(t *testing.T) {
	a, b := net.Pipe()
	from, to := newLink(a, "a", time.Second), newLink(b, "worker 3 (h:1)", time.Second)
	go func() { _ = from.sendVector(kindPush, 4, []float64{1}) }()
	err := to.receiveVector(kindPush, 5, make([]float64, 1), false)
	if err == nil || !strings.Contains(err.Error(), "worker 3 (h:1) broke the protocol during step 5: sent a push of step 4") {
		t.Errorf("error %v", err)
	}
	to.timeout = 10 * time.Millisecond
	if err := to.receiveVector(kindPush, 5, make([]float64, 1), false); err == nil || err.Error() != "worker 3 (h:1) did nothing for 10ms during step 5" {
		t.Errorf("error %v", err)
	}
	go a.Close()
	to.timeout = time.Second
	// A pipe, unlike a connection, refuses a deadline once its peer has closed it.
	err = to.receiveVector(kindPush, 5, make([]float64, 1), false)
	if err == nil || !strings.HasPrefix(err.Error(), "worker 3 (h:1) left during step 5: ") || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(header{kind: kindHello, size: 2}.append(nil))
	f.Add(append(header{kind: kindPush, size: 8, step: 9, offset: 1}.append(nil), 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(header{kind: kindPush, size: 7}.append(nil))
	f.Add(header{kind: kindEnd}.append(nil))
	f.Add(header{kind: kindAbort, size: maxPayload + 1}.append(nil))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, payload, err := readFrame(bytes.NewReader(b), nil)
		if err != nil {
			return
		}
		if again := append(h.append(nil), payload...); !bytes.Equal(again, b[:len(again)]) {
			t.Errorf("read %+v, which is written as % x, from % x", h, again, b)
		}
	})
}
