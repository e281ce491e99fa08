package engine

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/snapshot"
)

// attemptLog is the log of one attempt: the ends of both streams for the journal, and a live copy that people can
// read while the attempt runs. It is safe for concurrent use.
type attemptLog struct {
	mu     sync.Mutex
	kept   logTail
	copy   io.WriteCloser              // the live copy; nil if the run keeps no live logs
	err    error                       // the first error of the copy; after an error, nothing more is written to the copy
	masks  Masker                      // takes the secrets out of the copy; nil leaves them in
	masked [streamCount]*redact.Stream // what the copy gets of each stream; nil without masks
	pause  *time.Timer                 // passes on the incomplete lines of masked; nil if they are empty
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
	if l.masks = j.opts.Secrets; l.masks != nil {
		for from := range l.masked {
			l.masked[from] = l.masks.MaskStream(l.show)
		}
	}
	return l, err
}

// maskedPause is how long an incomplete line is held back from the live copy.
const maskedPause = 200 * time.Millisecond

// show writes text, which has no secrets, to the live copy.
func (l *attemptLog) show(text []byte) {
	if l.copy != nil && l.err == nil {
		_, l.err = l.copy.Write(text)
	}
}

// showSoon passes on the incomplete lines of the streams if nothing more is written for a while. The caller holds l.mu.
func (l *attemptLog) showSoon() {
	if l.pause != nil {
		l.pause.Reset(maskedPause)
		return
	}
	l.pause = time.AfterFunc(maskedPause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.copy == nil {
			return
		}
		for _, stream := range l.masked {
			stream.Pause()
		}
	})
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
	if l.masks == nil {
		l.show(p)
	} else {
		l.masked[from].Write(p)
		l.showSoon()
	}
	live, ok := l.copy.(ShortenedLog)
	if l.err != nil || !shortened || !ok {
		return
	}
	kept := l.kept.bytes()
	if l.masks != nil {
		kept, _ = l.masks.Mask(kept) // the text has no secrets even where their numbers cannot be recorded
		for _, stream := range l.masked {
			stream.Drop() // the copy gets all of the text now
		}
	}
	l.err = live.Shorten(kept)
}

// text returns the ends of the given streams that the log keeps, in the order in which the bytes were written. A line
// in the place of dropped bytes states their number. Other goroutines may write to the log at the same time.
func (l *attemptLog) text(of ...streamName) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.text(of...)
}

// printTo writes the end of a stream that the log keeps to out, which may be nil.
func (l *attemptLog) printTo(out *lineWriter, from streamName) {
	if out == nil {
		return
	}
	_, _ = out.Write([]byte(l.text(from)))
	out.flush()
}

// close closes the live copy and returns the errors of writing and closing it. Without a copy it returns nil.
func (l *attemptLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pause != nil {
		l.pause.Stop()
	}
	if l.copy == nil {
		return nil
	}
	if l.masks != nil {
		for _, stream := range l.masked {
			stream.Close()
		}
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
	mu    sync.Mutex
	out   io.Writer
	dead  bool   // out has returned an error
	masks Masker // takes the secrets out; nil leaves them in
}

// stream returns the writer for a task's lines, or nil if l is nil or has no out. name is the task's name.
func (l *liveLog) stream(name string) *lineWriter {
	if l == nil || l.out == nil {
		return nil
	}
	w := &lineWriter{log: l, prefix: name + "| "}
	if l.masks != nil {
		w.masked = l.masks.MaskStream(w.cut)
	}
	return w
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
	masked  *redact.Stream // takes the secrets out before the text is cut into lines; nil leaves them in
}

// Write writes the lines that p completes to the live log, and keeps an unfinished line for the next call. It also
// writes an unfinished line of more than maxLiveLine bytes. If w is nil, Write drops p. It always returns len(p) and
// nil.
func (w *lineWriter) Write(p []byte) (int, error) {
	switch {
	case w == nil:
	case w.masked != nil:
		w.masked.Write(p)
		if len(p) > 0 && p[len(p)-1] == '\n' { // people wait for the line
			w.masked.Pause()
		}
	default:
		w.cut(p)
	}
	return len(p), nil
}

// cut writes the lines that p completes.
func (w *lineWriter) cut(p []byte) {
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
		w.last()
	}
}

// flush writes a last line that has no line break. w may be nil.
func (w *lineWriter) flush() {
	if w != nil && w.masked != nil {
		w.masked.Close()
	}
	w.last()
}

// last writes the unfinished line. w may be nil.
func (w *lineWriter) last() {
	if w != nil && len(w.pending) > 0 {
		w.log.line(w.prefix, w.pending)
		w.pending = nil
	}
}
