package inspect

import (
	"bytes"
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/snapshot"
)

// followLog prints the log of the attempt l, and then notes the state of the attempt. There are two cases:
//   - The attempt is running, and l is at the tip of the run. followLog prints the log as it grows, until the attempt
//     has ended or no live process executes the run. If this prints nothing, followLog prints the stored log.
//   - In all other cases, followLog prints the stored log.
//
// followLog leaves out the lines that are before the range opts.lines in the log as it is now.
func followLog(ctx context.Context, s *session.Session, l *attemptLog, opts logsOptions) error {
	now, _, err := l.text(ctx)
	if err != nil {
		return err
	}
	left := opts.lines.skipped(len(linesOf(now)))
	if opts.lines.tail == 0 {
		left = max(0, opts.lines.from-1) // lines that are still to come count
	}
	painter := s.Painter(ctx)
	out := &lineWriter{line: func(line string) error {
		if left > 0 {
			left--
			return nil
		}
		return printLogLine(s, painter, line, opts.raw)
	}}
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

// unattended reports whether no live process executes the run. Some engines do not claim their runs, so it is unknown
// whether their process lives. For a run of such an engine, unattended returns false as long as the status of the run
// is running. l.head must not be nil.
func (l *attemptLog) unattended() bool {
	row := l.head.Row()
	if row.Epoch == 0 { // the run of an engine that does not claim runs
		return row.Status != snapshot.RunRunning
	}
	return !l.store.Owner(row).Live
}

// printLogLine prints one line of a log, without control characters unless raw is true. With --json, it prints the whole line in a JSON
// object, with invalid UTF-8 replaced.
func printLogLine(s *session.Session, p term.Painter, line string, raw bool) error {
	switch {
	case s.JSON:
		return s.WriteJSON(term.Document("line", term.Member("text", strings.ToValidUTF8(line, "\uFFFD"))))
	case raw:
		return s.Printf("%s\n", line)
	}
	return s.Printf("%s\n", strings.Join(p.Lines(line), "\n"))
}

// A lineWriter splits text into lines, and calls the function line with each line, without the line feed.
type lineWriter struct {
	line    func(text string) error
	begun   []byte // the beginning of a line that has not ended
	written bool   // something was written
}

// Write calls w.line with every line that ends in p, without the line feed. It keeps an unfinished line at the end of p
// for the next call. If w.line returns an error, Write stops and returns this error.
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

// finish calls w.line with the kept line if the text did not end with a line feed. The caller must call finish after
// the last Write.
func (w *lineWriter) finish() error {
	if len(w.begun) == 0 {
		return nil
	}
	return w.line(string(w.begun))
}
