package trainer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"
)

// kind says what a frame carries.
type kind uint8

// The frames of the protocol.
const (
	kindHello   kind = iota + 1 // JSON: who joins, and with which options
	kindWelcome                 // JSON: the data addresses of all ranks
	kindBeat                    // nothing: the sender is alive
	kindBye                     // nothing: the sender is done and may leave
	kindAbort                   // text: why the job ends
	kindReduce                  // float64: a piece of a partial sum, reduce-scatter
	kindGather                  // float64: a piece of the full sum, all-gather
	kindPush                    // float64: a piece of a gradient, to a server
	kindParams                  // float64: a piece of the parameters, from a server
	kindTail                    // float64: the scalars that end a push or a reply
	kindEnd                     // not sent
)

// String returns the word used in errors.
func (k kind) String() string {
	names := [...]string{"?", "hello", "welcome", "heartbeat", "goodbye", "abort", "partial sum", "sum", "push", "parameters", "scalars"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("frame of kind %d", uint8(k))
}

const (
	frameMagic  = 0x6e6b // "kn", little-endian
	headerSize  = 20
	chunk       = 8192    // float64 per data frame: 64 KiB, so that adding overlaps with receiving
	maxPayload  = 1 << 20 // bytes; anything larger is not ours
	beatsPerTTL = 5       // heartbeats within one timeout
)

// header precedes every payload. On the wire, little-endian: magic uint16,
// kind uint8, zero uint8, size uint32, step uint64, offset uint32.
type header struct {
	kind   kind
	size   int    // bytes of payload
	step   int64  // optimizer step the payload belongs to, 0 if none
	offset uint32 // index in chunks of the first element, for vectors
}

// append writes the header's wire form to b.
func (h header) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, frameMagic)
	b = append(b, byte(h.kind), 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.step))
	return binary.LittleEndian.AppendUint32(b, h.offset)
}

// parseHeader reads the wire form of a header and checks it.
func parseHeader(b []byte) (header, error) {
	if len(b) < headerSize {
		return header{}, fmt.Errorf("frame header has %d bytes, want %d", len(b), headerSize)
	}
	if m := binary.LittleEndian.Uint16(b); m != frameMagic || b[3] != 0 {
		return header{}, fmt.Errorf("frame starts with %#x, want %#x: not a knee trainer", m, frameMagic)
	}
	h := header{
		kind:   kind(b[2]),
		size:   int(binary.LittleEndian.Uint32(b[4:])),
		step:   int64(binary.LittleEndian.Uint64(b[8:])),
		offset: binary.LittleEndian.Uint32(b[16:]),
	}
	switch {
	case h.kind == 0 || h.kind >= kindEnd:
		return header{}, fmt.Errorf("frame has kind %d, want 1 to %d", b[2], kindEnd-1)
	case h.size > maxPayload || h.size < 0:
		return header{}, fmt.Errorf("frame has %d bytes, want at most %d", h.size, maxPayload)
	case h.kind >= kindReduce && h.size%8 != 0:
		return header{}, fmt.Errorf("%s frame has %d bytes, want a multiple of 8", h.kind, h.size)
	case h.step < 0:
		return header{}, fmt.Errorf("frame belongs to step %d, want at least 0", h.step)
	}
	return h, nil
}

// readFrame reads one frame; the payload is stored in buf if it fits.
func readFrame(r io.Reader, buf []byte) (header, []byte, error) {
	var raw [headerSize]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return header{}, nil, err
	}
	h, err := parseHeader(raw[:])
	if err != nil {
		return header{}, nil, err
	}
	if cap(buf) < h.size {
		buf = make([]byte, h.size)
	}
	buf = buf[:h.size]
	if _, err := io.ReadFull(r, buf); err != nil {
		return header{}, nil, fmt.Errorf("within a %s frame: %w", h.kind, err)
	}
	return h, buf, nil
}

// appendFloats encodes v as little-endian IEEE 754, 8 bytes an element.
func appendFloats(b []byte, v []float64) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// storeFloats decodes b into dst, 8 bytes an element, adding if add is set.
func storeFloats(dst []float64, b []byte, add bool) {
	for i := range dst {
		x := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if add {
			x += dst[i]
		}
		dst[i] = x
	}
}

// errBye is what reading yields when the peer is done.
var errBye = errors.New("said goodbye")

// peerError is an error that another rank is to blame for.
type peerError struct {
	peer string // "worker 2 (127.0.0.1:4711)"
	what string // "left", "sent nothing for 1m0s"
	step int64
	err  error // nil if what says it all
}

// Error names the rank, the step and the cause.
func (e *peerError) Error() string {
	s := e.peer + " " + e.what
	if e.step > 0 {
		s += fmt.Sprintf(" during step %d", e.step)
	} else {
		s += " before the first step"
	}
	if e.err != nil {
		s += ": " + e.err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *peerError) Unwrap() error { return e.err }

// link is a connection to one rank. One goroutine may send while another
// receives; sends are safe from several goroutines.
type link struct {
	peer    string
	conn    net.Conn
	r       *bufio.Reader
	timeout time.Duration // of one read or write
	rbuf    []byte

	mu   sync.Mutex
	wbuf []byte
}

// newLink wraps a connection. Small frames must not wait for large ones to
// be acknowledged, so Nagle's algorithm is switched off.
func newLink(conn net.Conn, peer string, timeout time.Duration) *link {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetNoDelay(true) // an optimisation: the connection works without
	}
	return &link{peer: peer, conn: conn, r: bufio.NewReaderSize(conn, chunk*8+headerSize), timeout: timeout}
}

// blame turns an error of the connection into one that names the peer.
func (l *link) blame(step int64, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &peerError{l.peer, fmt.Sprintf("did nothing for %s", l.timeout), step, nil}
	case errors.Is(err, errBye):
		return err
	}
	return &peerError{l.peer, "left", step, err}
}

// send writes one frame.
func (l *link) send(k kind, step int64, payload []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wbuf = append(header{kind: k, size: len(payload), step: step}.append(l.wbuf[:0]), payload...)
	return l.write(step)
}

// write sends wbuf; the caller holds mu.
func (l *link) write(step int64) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(l.timeout)); err != nil {
		return l.blame(step, err)
	}
	if _, err := l.conn.Write(l.wbuf); err != nil {
		return l.blame(step, err)
	}
	return nil
}

// receive reads one frame. The payload is valid until the next call.
func (l *link) receive(step int64, timeout time.Duration) (header, []byte, error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return header{}, nil, l.blame(step, err)
	}
	h, payload, err := readFrame(l.r, l.rbuf)
	if err != nil {
		return header{}, nil, l.blame(step, err)
	}
	l.rbuf = payload
	return h, payload, nil
}

// sendVector writes v as frames of at most chunk elements.
func (l *link) sendVector(k kind, step int64, v []float64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := uint32(0); len(v) > 0; i++ {
		part := v[:min(chunk, len(v))]
		v = v[len(part):]
		h := header{kind: k, size: 8 * len(part), step: step, offset: i}
		l.wbuf = appendFloats(h.append(l.wbuf[:0]), part)
		if err := l.write(step); err != nil {
			return err
		}
	}
	return nil
}

// receiveVector reads len(dst) elements sent by sendVector into dst, or adds
// them to it. It returns errBye if the peer said goodbye instead.
func (l *link) receiveVector(k kind, step int64, dst []float64, add bool) error {
	for i := uint32(0); len(dst) > 0; i++ {
		part := dst[:min(chunk, len(dst))]
		dst = dst[len(part):]
		h, payload, err := l.receive(step, l.timeout)
		if err != nil {
			return err
		}
		if h.kind == kindBye && i == 0 {
			return errBye
		}
		if h.kind != k || h.step != step || h.offset != i || h.size != 8*len(part) {
			return &peerError{l.peer, "broke the protocol", step, fmt.Errorf(
				"sent a %s of step %d, part %d, %d bytes; want a %s, part %d, %d bytes", h.kind, h.step, h.offset, h.size, k, i, 8*len(part))}
		}
		storeFloats(part, payload, add)
	}
	return nil
}
