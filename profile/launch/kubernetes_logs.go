package launch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/internal/kube"
)

// logPause is the wait before output is requested again after its stream ended.
const logPause = 300 * time.Millisecond

type podLog struct {
	run  *kubeRun
	fail func(doing string, err error)
	pod  string // its name
	from string // name of the container

	running context.Context // ends with the container or the pod
	end     context.CancelFunc
	done    chan struct{} // closed when all output has been read

	mu  sync.Mutex // guards out
	out output

	// Read position: the time of the last whole line, how many lines had it, and how many parts
	// of the next line were taken.
	at    time.Time
	same  int
	parts int
	good  time.Time // when the server last sent output, or ended it
}

// words returns the last line that was no observation, and the first of memory.
func (l *podLog) words() (last, oom string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.last, l.out.oom
}

// read follows the output, through broken connections, skipping lines already read. It is
// complete when a request begun after the container's end has reached the end.
func (l *podLog) read(ctx context.Context) {
	defer close(l.done)
	l.good = time.Now()
	for ctx.Err() == nil {
		final := l.running.Err() != nil
		err := l.stream(ctx, final)
		switch {
		case err == nil && final, kube.IsNotFound(err):
			return
		case err == nil:
		case kube.IsRefused(err) && !kube.IsBadRequest(err): // which is the answer before the container has begun
			l.fail("read the output of "+l.out.name, err)
			return
		case time.Since(l.good) > kube.OutageTimeout:
			l.run.log.note("%s: stopped reading its output: %v", l.out.name, err)
			return
		case l.run.trial.Away != nil:
			l.run.trial.Away()
		}
		ended := l.running.Done()
		if final {
			ended = nil // already handled by the final request
		}
		select {
		case <-ended:
		case <-time.After(logPause):
		case <-ctx.Done():
		}
	}
}

// stream reads from the read position until the connection or the output ends.
func (l *podLog) stream(ctx context.Context, final bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := corev1.PodLogOptions{Container: l.from, Follow: !final}
	if !l.at.IsZero() {
		o.SinceTime = new(metav1.NewTime(l.at)) // it is sent in whole seconds
	}
	body, err := l.run.kube.Client.Logs(ctx, l.run.kube.Spec.Namespace, l.pod, o)
	if err != nil {
		return err
	}
	defer func() {
		l.good = time.Now()
		body.Close()
	}()
	if !final {
		// A stopped API server may leave the connection open after the container's end.
		defer context.AfterFunc(l.running, func() {
			time.Sleep(2 * logPause)
			cancel()
		})()
	}
	in, line := bufio.NewReaderSize(body, maxLine), podLine{log: l, skipAt: l.at, skip: l.same, parts: l.parts}
	var part []byte
	for {
		c, err := in.ReadByte()
		switch {
		case err == nil && c != '\r' && c != '\n':
			if len(part) < maxLine {
				part = append(part, c)
			}
		case err == nil || final && errors.Is(err, io.EOF) && len(part) > 0:
			line.take(ctx, string(part))
			part = part[:0]
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case c == '\n':
			line.end()
		}
	}
}

// podLine is the line that a request reads. Those before skipAt, skip at it, and as many parts
// of the next line were read before.
type podLine struct {
	log         *podLog
	skipAt      time.Time
	skip, parts int

	begun, known bool      // its time was read; the line was read before
	at           time.Time // zero of a message of the kubelet
}

// take takes a part of the line: a progress bar separates its states by carriage returns, and
// may send no line feed before its end.
func (p *podLine) take(ctx context.Context, text string) {
	l := p.log
	if !p.begun {
		p.begun = true
		stamp, rest, _ := strings.Cut(text, " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			p.at, text = at, rest
			p.known = at.Before(p.skipAt) || at.Equal(p.skipAt) && p.skip > 0
		}
	}
	switch {
	case p.known:
		return
	case !p.at.IsZero() && p.parts > 0:
		p.parts--
		return
	case !p.at.IsZero():
		l.parts++
	}
	if text == "" {
		return
	}
	at := p.at
	if at.IsZero() {
		at = time.Now()
	}
	l.run.log.line(l.out.name, text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.line(at, text)
	l.out.flush(ctx, false)
}

func (p *podLine) end() {
	l := p.log
	switch {
	case p.known && p.at.Equal(p.skipAt):
		p.skip--
	case !p.known && !p.at.IsZero():
		if !p.at.Equal(l.at) {
			l.at, l.same = p.at, 0
		}
		l.same, l.parts, p.parts = l.same+1, 0, 0
	}
	p.begun, p.known, p.at = false, false, time.Time{}
}
