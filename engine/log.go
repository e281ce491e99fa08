package engine

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/git-smithers/git-smithers/snapshot"
)

// attemptLog is the log of one attempt: the ends of both streams for the journal, and a live copy that people can
// read while the attempt runs. It is safe for concurrent use.
type attemptLog struct {
	mu   sync.Mutex
	kept logTail
	copy io.WriteCloser // the live copy; nil if the run keeps no live logs
	err  error          // the first error of the copy; after an error, nothing more is written to the copy
}

// openLog begins the log of the attempt. Without Options.Logs, the log has no live copy. If the copy cannot be
// opened, openLog returns the error and also a log without a copy, which the attempt can use.
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

// write adds bytes of a stream to the log and to the live copy. If the log drops the beginning of a stream, write
// shortens the copy, too, if the copy is a ShortenedLog. After the first error of the copy, write adds the bytes only
// to the log.
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

// text returns the ends of the given streams that the log keeps, in the order in which the bytes were written. A line
// in the place of dropped bytes states their number. Other goroutines may write to the log at the same time.
func (l *attemptLog) text(of ...streamName) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.text(of...)
}

// close closes the live copy and returns the errors of writing and closing it. Without a copy it returns nil.
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

// streamLog is a writer that adds one stream to an attempt's log.
type streamLog struct {
	log  *attemptLog
	from streamName
}

// Write adds p to the log and always returns len(p) and nil.
func (s streamLog) Write(p []byte) (int, error) {
	s.log.write(s.from, p)
	return len(p), nil
}

// liveLog writes the logs of tasks to out for people, in whole lines that begin with the task's name. It is safe for
// concurrent use. After the first error it writes nothing more, because the reader has closed the output.
type liveLog struct {
	mu   sync.Mutex
	out  io.Writer
	dead bool // out has returned an error
}

// stream returns the writer for a task's lines, or nil if l is nil or has no out. name is the task's name.
func (l *liveLog) stream(name string) *lineWriter {
	if l == nil || l.out == nil {
		return nil
	}
	return &lineWriter{log: l, prefix: name + "| "}
}

// line writes prefix, line and a line break to l.out. If an earlier write has failed, line writes nothing. It drops
// the error of the write, because the live log is only for display.
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

// maxLiveLine is the number of bytes after which an unfinished line is written as a line.
const maxLiveLine = 8192

// lineWriter cuts one task's log into lines. It must be used by one goroutine at a time.
type lineWriter struct {
	log     *liveLog
	prefix  string
	pending []byte
}

// Write writes the lines that p completes to the live log, and keeps an unfinished line for the next call. It also
// writes an unfinished line of more than maxLiveLine bytes. If w is nil, Write drops p. It always returns len(p) and
// nil.
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

// flush writes a last line that has no line break. w may be nil.
func (w *lineWriter) flush() {
	if w != nil && len(w.pending) > 0 {
		w.log.line(w.prefix, w.pending)
		w.pending = nil
	}
}
