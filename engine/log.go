package engine

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/git-smithers/git-smithers/snapshot"
)

// attemptLog is the log of one attempt: the ends of both streams for the journal, and a copy
// that can be read while the log grows. It is safe for concurrent use.
type attemptLog struct {
	mu   sync.Mutex
	kept logTail
	copy io.WriteCloser // nil if no copy is kept
	err  error          // the copy's first error; the copy is given up then
}

// openLog begins the log of the attempt. Its error means that no copy is kept; the attempt can run.
func (j *job) openLog() (*attemptLog, error) {
	l := &attemptLog{kept: logTail{limit: j.opts.MaxLog}}
	if j.opts.Logs == nil {
		return l, nil
	}
	var err error
	l.copy, err = j.opts.Logs.Open(snapshot.AttemptKey(j.key.ID, j.key.Iteration, j.attempt), logSlack*j.opts.MaxLog)
	if err != nil {
		l.copy = nil
	}
	return l, err
}

// write adds bytes of a stream.
func (l *attemptLog) write(from streamName, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shortened := l.kept.write(from, p)
	if l.copy == nil || l.err != nil {
		return
	}
	if _, l.err = l.copy.Write(p); l.err != nil || !shortened {
		return
	}
	if live, ok := l.copy.(ShortenedLog); ok {
		l.err = live.Shorten(l.kept.bytes())
	}
}

// text returns the ends of the given streams.
func (l *attemptLog) text(of ...streamName) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.text(of...)
}

// close ends the copy and returns the copy's error.
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

// streamLog is the part of one stream in an attempt's log.
type streamLog struct {
	log  *attemptLog
	from streamName
}

// Write never fails.
func (s streamLog) Write(p []byte) (int, error) {
	s.log.write(s.from, p)
	return len(p), nil
}

// liveLog passes the logs of tasks on to people, whole lines with the task's name
// in front. It is safe for concurrent use. After the first error it writes nothing more,
// because the reader is gone.
type liveLog struct {
	mu   sync.Mutex
	out  io.Writer
	dead bool
}

// stream returns a task's part of the live log; nil if there is no live log.
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

// maxLiveLine is the length at which a line is passed on before its end has come.
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
