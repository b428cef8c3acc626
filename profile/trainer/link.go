package trainer

import (
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"net"
	"sync/atomic"
)

// link is a connection to one rank, over which values travel as package gob
// writes them. One goroutine may send while another receives.
type link struct {
	peer string        // "worker 2 (127.0.0.1:4711)", for messages
	step *atomic.Int64 // in progress, for messages
	conn net.Conn
	enc  *gob.Encoder
	dec  *gob.Decoder
}

// hello introduces a rank to the one it connects to.
type hello struct {
	Rank int
	Addr string // where its predecessor in the ring reaches it
}

// vector is numbers as they travel: float64, little-endian.
type vector []byte

// packed writes v over the bytes of a vector that is no longer needed.
func packed(over vector, v []float64) vector {
	out, _ := binary.Append(over[:0], binary.LittleEndian, v) // of a slice of float64, which cannot fail
	return out
}

// unpack reads as many numbers as fit into v.
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

// blame turns an error of the connection into one that names the peer.
func (l *link) blame(err error) error {
	if err == nil {
		return nil
	}
	if step := l.step.Load(); step > 0 {
		return fmt.Errorf("%s left during step %d: %w", l.peer, step, err)
	}
	return fmt.Errorf("%s left before the first step: %w", l.peer, err)
}
