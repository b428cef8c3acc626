//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// output is what a container has printed.
type output struct {
	mu     sync.Mutex
	lines  []outputLine
	closed bool
	more   chan struct{} // closed, and replaced, when there is more
}

type outputLine struct {
	at   time.Time
	text string // with its end of line
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) add(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, outputLine{time.Now(), text})
	close(o.more)
	o.more = make(chan struct{})
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.more)
	o.more = make(chan struct{})
}

// after returns the lines from number n, whether there will be more, and
// what to wait for.
func (o *output) after(n int) ([]outputLine, bool, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines[n:], o.closed, o.more
}

// serve starts the server that the API server asks for output: the one
// resource of a kubelet's API that tests need. The API server does not check the
// certificates of kubelets unless it is told an authority.
func (a *agent) serve(ctx context.Context) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", a.logs)
	server := httptest.NewTLSServer(mux)
	a.port = server.Listener.Addr().(*net.TCPAddr).Port
	context.AfterFunc(ctx, server.CloseClientConnections)
}

// logs writes what a container has printed, and with follow what it prints.
func (a *agent) logs(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	p := a.pods[r.PathValue("namespace")+"/"+r.PathValue("pod")]
	a.mu.Unlock()
	if p == nil || a.lost(p.pod.Spec.NodeName) {
		http.Error(w, "no such pod on this node", http.StatusNotFound)
		return
	}
	since, _ := time.Parse(time.RFC3339, r.FormValue("sinceTime")) // none: from the beginning
	w.Header().Set("Content-Type", "text/plain")
	for n := 0; ; {
		lines, closed, more := p.out.after(n)
		for _, l := range lines {
			if l.at.Before(since) {
				continue
			}
			if r.FormValue("timestamps") == "true" {
				fmt.Fprint(w, l.at.UTC().Format(time.RFC3339Nano), " ")
			}
			fmt.Fprint(w, l.text)
		}
		n += len(lines)
		http.NewResponseController(w).Flush()
		if closed || r.FormValue("follow") != "true" {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}
