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

	// Read position: the time of the last whole line, and how many lines had it.
	at   time.Time
	same int
}

// words returns the last line that was no observation, and the first of memory.
func (l *podLog) words() (last, oom string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.last, l.out.oom
}

// read follows the output, through broken connections, skipping lines already read. It is
// complete when a request begun after the container's end has reached the end.
func (l *podLog) read(ctx context.Context, outageTimeout time.Duration) {
	defer close(l.done)
	good := time.Now()
	for ctx.Err() == nil {
		final := l.running.Err() != nil
		err := l.stream(ctx, final)
		switch {
		case err == nil && final, kube.IsNotFound(err):
			return
		case err == nil:
			good = time.Now()
		case kube.IsRefused(err) && !kube.IsBadRequest(err): // which is the answer before the container has begun
			l.fail("read the output of "+l.out.name, err)
			return
		case time.Since(good) > outageTimeout:
			l.run.log.note("%s: stopped reading its output: %v", l.out.name, err)
			return
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
	defer body.Close()
	if !final {
		// A stopped API server may leave the connection open after the container's end.
		defer context.AfterFunc(l.running, func() {
			time.Sleep(2 * logPause)
			cancel()
		})()
	}
	skipAt, skip := l.at, l.same
	lines := bufio.NewReaderSize(body, maxLine)
	for {
		line, err := lines.ReadString('\n')
		if err == nil || final && errors.Is(err, io.EOF) && line != "" {
			l.line(ctx, line, skipAt, &skip)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line takes a line with its time; those before skipAt, and skip at it, were read before.
func (l *podLog) line(ctx context.Context, line string, skipAt time.Time, skip *int) {
	line = strings.TrimRight(line, "\r\n")
	stamp, text, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	switch {
	case err != nil:
		at, text = time.Now(), line // a message of the kubelet
	case at.Before(skipAt):
		return
	case at.Equal(skipAt) && *skip > 0:
		*skip--
		return
	case at.Equal(l.at):
		l.same++
	default:
		l.at, l.same = at, 1
	}
	// A progress bar separates its states by carriage returns.
	var drawn lines
	each := func(text string) {
		l.run.log.line(l.out.name, text)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.out.line(at, text)
		l.out.flush(ctx)
	}
	drawn.split([]byte(text), each)
	drawn.end(each)
}
