package see

import (
	"bytes"
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/claim"
)

// logLineDocument is one line of logs --follow --json.
type logLineDocument struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// followLog prints the log of an attempt. If the attempt is running, it prints the log as it grows, until the attempt
// has ended or no live process owns the run. If the attempt has already ended, or l is at an older frame, it prints the
// stored log. At the end, it notes the state of the attempt.
func followLog(ctx context.Context, s *session.Session, l *attemptLog) error {
	out := &lineWriter{line: func(line string) error { return printLogLine(s, line) }}
	if !l.ended() && l.head != nil {
		err := claim.LiveLogsOf(l.store, l.run).Follow(ctx, l.key(), out, func() (bool, error) {
			err := l.refresh(ctx)
			return l.ended() || l.unattended(), err
		})
		if err != nil {
			return err
		}
	}
	if !out.written { // the attempt ended before its log could be followed
		text, _, err := l.stored()
		if err != nil {
			return err
		}
		if _, err := out.Write([]byte(text)); err != nil {
			return err
		}
	}
	if err := out.finish(); err != nil {
		return err
	}
	s.Note("%s", l.describe())
	return nil
}

// unattended reports whether no live process owns the run. If an engine claims no runs, its process counts as alive
// while the run is running. l.head must not be nil.
func (l *attemptLog) unattended() bool {
	row := l.head.Row()
	if row.Epoch == 0 {
		return row.Status != snapshot.RunRunning
	}
	return !l.store.Owner(row).Live
}

// printLogLine prints one line of a log. With --json, it prints an object with the line.
func printLogLine(s *session.Session, line string) error {
	if s.JSON {
		return s.WriteJSON(logLineDocument{"line", strings.ToValidUTF8(line, "\uFFFD")})
	}
	return s.Printf("%s\n", strings.Join(plain.Lines(line), "\n"))
}

// A lineWriter splits text into lines and calls line with each one, without its line feed.
type lineWriter struct {
	line    func(text string) error
	begun   []byte // the beginning of a line that has not ended
	written bool   // something was written
}

// Write calls w.line with every line that ends in p, and keeps the rest for the next call. It returns the error of
// w.line.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.written = w.written || len(p) > 0
	n := len(p)
	for {
		text, rest, ended := bytes.Cut(p, []byte{'\n'})
		w.begun = append(w.begun, text...)
		if !ended {
			return n, nil
		}
		if err := w.line(string(w.begun)); err != nil {
			return 0, err
		}
		w.begun, p = w.begun[:0], rest
	}
}

// finish calls w.line with the last line if the text does not end with a line feed. Call it after the last Write.
func (w *lineWriter) finish() error {
	if len(w.begun) == 0 {
		return nil
	}
	return w.line(string(w.begun))
}
