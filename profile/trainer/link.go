package trainer

import (
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"net"
	"sync/atomic"
)

// link carries gob values to and from one rank, one goroutine each way.
type link struct {
	peer string        // "worker 2 (127.0.0.1:4711)", for messages
	step *atomic.Int64 // current step, for messages
	conn net.Conn
	enc  *gob.Encoder
	dec  *gob.Decoder
}

// hello is the first message of a rank on a connection.
type hello struct {
	Rank int
	Addr string // its address for the previous rank of the ring
}

// vector is the wire form of numbers: float64, little-endian.
type vector []byte

// packed encodes v, reusing the memory of over.
func packed(over vector, v []float64) vector {
	out, _ := binary.Append(over[:0], binary.LittleEndian, v) // cannot fail for []float64
	return out
}

// unpack decodes exactly len(v) numbers into v.
func (b vector) unpack(v []float64) error {
	if len(b) != 8*len(v) {
		return fmt.Errorf("it sent %d bytes, want %d numbers", len(b), len(v))
	}
	_, err := binary.Decode(b, binary.LittleEndian, v)
	return err
}

func newLink(conn net.Conn, peer string, step *atomic.Int64) *link {
	return &link{peer: peer, step: step, conn: conn, enc: gob.NewEncoder(conn), dec: gob.NewDecoder(conn)}
}

func (l *link) send(v any) error { return l.blame(l.enc.Encode(v)) }

func (l *link) receive(v any) error { return l.blame(l.dec.Decode(v)) }

func (l *link) blame(err error) error {
	if err == nil {
		return nil
	}
	if step := l.step.Load(); step > 0 {
		return fmt.Errorf("%s left during step %d: %w", l.peer, step, err)
	}
	return fmt.Errorf("%s left before the first step: %w", l.peer, err)
}
