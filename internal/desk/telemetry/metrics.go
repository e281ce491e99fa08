package telemetry

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/desk/block"
)

// slowest is how long a scrape may take.
const slowest = 30 * time.Second

// serveMetrics listens at addr until s.In ends. It first writes a block with the URL of the metrics. For each scrape it writes an empty block, and answers
// with the block that it then reads. One scrape at a time is asked for.
func serveMetrics(ctx context.Context, s Streams, addr string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if err := block.Write(s.Out, []byte("http://"+listener.Addr().String()+"/metrics")); err != nil {
		return errors.Join(err, listener.Close())
	}
	asked := &scrapes{out: s.Out, answers: make(chan []byte)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() && !names(r.Host, addr) {
			http.Error(w, "the metrics of this machine are read at localhost or an IP address; to read them under another name, give that name to --metrics", http.StatusForbidden)
			return
		}
		asked.answer(w, r)
	})
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 2 * slowest, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	in := bufio.NewReader(s.In)
	for {
		text, err := block.Read(in)
		if errors.Is(err, io.EOF) { // the supervisor has ended
			err = nil
		} else if err == nil {
			select {
			case asked.answers <- text:
			case <-time.After(slowest): // nobody waits for it any more
			}
			continue
		}
		closed := server.Close()
		serveErr := <-served
		if errors.Is(serveErr, http.ErrServerClosed) {
			serveErr = nil
		}
		return errors.Join(err, closed, serveErr)
	}
}

// names reports whether the Host of a request names the server that listens at addr: by an IP address, as localhost, or by the name in addr. A web
// page can lead any other name to this address, to read in a browser what only this machine can reach.
func names(host, addr string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	own, _, _ := net.SplitHostPort(addr)
	return net.ParseIP(strings.Trim(host, "[]")) != nil || strings.EqualFold(host, "localhost") || strings.EqualFold(host, own)
}

// scrapes asks the supervisor for the metrics, one scrape after the other.
type scrapes struct {
	one     sync.Mutex
	out     io.Writer
	answers chan []byte
}

// answer answers a scrape.
func (q *scrapes) answer(w http.ResponseWriter, r *http.Request) {
	q.one.Lock()
	defer q.one.Unlock()
	if err := block.Write(q.out, nil); err != nil {
		http.Error(w, "the supervisor has ended", http.StatusServiceUnavailable)
		return
	}
	select {
	case text := <-q.answers:
		if len(text) == 0 {
			http.Error(w, "the metrics cannot be read: see the messages of git smithers supervise", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text)
	case <-time.After(slowest):
		http.Error(w, "the supervisor does not answer", http.StatusServiceUnavailable)
	case <-r.Context().Done():
		<-q.answers // so that the next scrape does not get this answer
	}
}
