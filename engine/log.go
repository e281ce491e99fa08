package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/snapshot"
)

// tail keeps the last bytes written to it. It is safe for concurrent use: the two
// streams of a command may share one.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
	total int64
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	t.kept = append(t.kept, p[max(0, len(p)-t.limit):]...)
	if len(t.kept) > 2*t.limit { // so that shifting costs a constant per byte
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
	}
	return len(p), nil
}

// String is what was kept, made valid UTF-8, with a first line that says how much
// is missing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept[max(0, len(t.kept)-t.limit):]
	text := strings.ToValidUTF8(string(kept), "\uFFFD")
	if missing := t.total - int64(len(kept)); missing > 0 {
		return fmt.Sprintf("[%d bytes before this are not kept]\n%s", missing, text)
	}
	return text
}

// attemptLog is the log of one attempt: its end for the journal, and a copy that can be
// read while it comes. It is safe for concurrent use.
type attemptLog struct {
	kept tail
	mu   sync.Mutex
	copy io.WriteCloser // nil where nobody keeps one
	err  error          // the first of the copy, which is given up then
}

// openLog begins the log of the attempt. That no copy can be kept is no reason not to run.
func (j *job) openLog() (*attemptLog, error) {
	l := &attemptLog{kept: tail{limit: j.opts.MaxLog}}
	if j.opts.Logs == nil {
		return l, nil
	}
	var err error
	l.copy, err = j.opts.Logs.Open(snapshot.AttemptKey(j.key.id, j.key.iteration, j.attempt), j.opts.MaxLog)
	if err != nil {
		l.copy = nil
	}
	return l, err
}

// Write never fails.
func (l *attemptLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.copy != nil && l.err == nil {
		_, l.err = l.copy.Write(p)
	}
	return l.kept.Write(p)
}

func (l *attemptLog) text() string { return l.kept.String() }

// close ends the copy, and says what went wrong with it.
func (l *attemptLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.copy == nil {
		return nil
	}
	err := errors.Join(l.err, l.copy.Close())
	l.copy = nil
	return err
}

// liveLog passes the logs of tasks on to people, whole lines with the task's name
// in front. It is safe for concurrent use; after the first error it is silent,
// since nobody reads any more.
type liveLog struct {
	mu   sync.Mutex
	out  io.Writer
	dead bool
}

// stream is one task's part of the live log; nil when there is none.
func (l *liveLog) stream(name string) *lineWriter {
	if l == nil || l.out == nil {
		return nil
	}
	return &lineWriter{log: l, prefix: name + "| "}
}

func (l *liveLog) line(prefix string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	out := append([]byte(prefix), line...)
	if _, err := l.out.Write(append(out, '\n')); err != nil {
		l.dead = true
	}
}

// maxLiveLine is the length at which a line without an end is passed on all the same.
const maxLiveLine = 8192

// lineWriter cuts one task's log into lines. For one goroutine at a time.
type lineWriter struct {
	log     *liveLog
	prefix  string
	pending []byte
}

// Write passes on the lines that p completes. It never fails; nil drops everything.
func (w *lineWriter) Write(p []byte) (int, error) {
	if w == nil {
		return len(p), nil
	}
	w.pending = append(w.pending, p...)
	for {
		end := bytes.IndexByte(w.pending, '\n')
		if end < 0 {
			break
		}
		w.log.line(w.prefix, w.pending[:end])
		w.pending = w.pending[end+1:]
	}
	if len(w.pending) > maxLiveLine {
		w.flush()
	}
	return len(p), nil
}

// flush passes on a last line without an end.
func (w *lineWriter) flush() {
	if w != nil && len(w.pending) > 0 {
		w.log.line(w.prefix, w.pending)
		w.pending = nil
	}
}
