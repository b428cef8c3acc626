package trainer

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"gonum.org/v1/gonum/floats"
)

const (
	headerSize = 12   // of a vector: its step, uint64, and its length, uint32, little-endian
	chunk      = 8192 // float64 that are read at a time: 64 KiB, so that adding overlaps with receiving
)

// errBye is what reading yields when the peer is done: a vector of length 0.
var errBye = errors.New("said goodbye")

// link is a connection to one rank. It begins with a line of JSON in each
// direction that is needed; what follows are vectors. One goroutine may send
// while another receives.
type link struct {
	peer    string // "worker 2 (127.0.0.1:4711)", for messages
	conn    net.Conn
	r       *bufio.Reader
	timeout time.Duration // of one read or write

	out  []byte
	part []float64
}

func newLink(conn net.Conn, peer string, timeout time.Duration) *link {
	return &link{peer: peer, conn: conn, r: bufio.NewReaderSize(conn, 8*chunk), timeout: timeout}
}

// tell sends a value as a line of JSON.
func (l *link) tell(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		err = l.write(append(line, '\n'))
	}
	return l.blame(0, err)
}

// hear reads a line of JSON.
func (l *link) hear(v any, timeout time.Duration) error {
	err := l.conn.SetReadDeadline(time.Now().Add(timeout))
	var line []byte
	if err == nil {
		line, err = l.r.ReadSlice('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, v)
	}
	return l.blame(0, err)
}

func (l *link) write(b []byte) error {
	err := l.conn.SetWriteDeadline(time.Now().Add(l.timeout))
	if err == nil {
		_, err = l.conn.Write(b)
	}
	return err
}

// blame turns an error of the connection into one that names the peer.
func (l *link) blame(step int64, err error) error {
	if err == nil || errors.Is(err, errBye) {
		return err
	}
	when := "before the first step"
	if step > 0 {
		when = fmt.Sprintf("during step %d", step)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s did nothing for %s %s", l.peer, l.timeout, when)
	}
	return fmt.Errorf("%s left %s: %w", l.peer, when, err)
}

// send writes a vector.
func (l *link) send(step int64, v []float64) error {
	l.out = binary.LittleEndian.AppendUint64(l.out[:0], uint64(step))
	l.out = binary.LittleEndian.AppendUint32(l.out, uint32(len(v)))
	l.out, _ = binary.Append(l.out, binary.LittleEndian, v) // of a slice of float64, which cannot fail
	return l.blame(step, l.write(l.out))
}

// bye tells the peer that this rank is done.
func (l *link) bye() error { return l.send(0, nil) }

// receive reads a vector of a step into dst, or adds it. It returns errBye if
// the peer is done instead.
func (l *link) receive(step int64, dst []float64, add bool) error {
	header, err := l.read(headerSize)
	if err != nil {
		return l.blame(step, err)
	}
	of, n := int64(binary.LittleEndian.Uint64(header)), int(binary.LittleEndian.Uint32(header[8:]))
	switch {
	case n == 0 && len(dst) > 0:
		return errBye
	case of != step || n != len(dst):
		return fmt.Errorf("%s broke the protocol: it sent %d numbers of step %d, want %d of step %d", l.peer, n, of, len(dst), step)
	}
	for len(dst) > 0 {
		some := dst[:min(chunk, len(dst))]
		dst = dst[len(some):]
		b, err := l.read(8 * len(some))
		if err != nil {
			return l.blame(step, err)
		}
		to := some
		if add {
			l.part = append(l.part[:0], some...)
			to = l.part
		}
		_, _ = binary.Decode(b, binary.LittleEndian, to) // as many bytes as it takes
		if add {
			floats.Add(some, to)
		}
	}
	return nil
}

// read returns the next n bytes, valid until the next call.
func (l *link) read(n int) ([]byte, error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(l.timeout)); err != nil {
		return nil, err
	}
	b, err := l.r.Peek(n)
	if err == nil {
		_, err = l.r.Discard(n)
	}
	return b, err
}
