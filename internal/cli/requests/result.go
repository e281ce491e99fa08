package requests

import (
	"errors"
	"fmt"
	"io"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// RunDocument is the document of run --json and resume --json, and a part of the document of replay --json.
type RunDocument struct {
	Kind         string            `json:"kind"`
	RunID        string            `json:"runId"`
	WorkflowName string            `json:"workflowName"`
	Status       string            `json:"status"`
	Frame        int64             `json:"frame"`
	Tip          string            `json:"tip"`
	ContentHash  string            `json:"contentHash"`
	Error        *string           `json:"error"`
	Waiting      []mailbox.Waiting `json:"waiting"`
	StartedAtMs  *int64            `json:"startedAtMs"`
	FinishedAtMs *int64            `json:"finishedAtMs"`
	Worktree     *string           `json:"worktree"` // see app.OwnWorktree
}

// DescribeResult returns the JSON document of a run that has ended, or that this process has left because it waits.
// kind is the kind of the document.
func DescribeResult(kind string, r *app.Result) RunDocument {
	doc := RunDocument{
		Kind: kind, RunID: r.Run.ID, WorkflowName: r.Run.Workflow, Status: string(r.Run.Status), Frame: r.Run.Frame,
		Tip: r.Tip.String(), ContentHash: r.ContentHash.String(),
		Waiting: append([]mailbox.Waiting{}, r.Waiting...), StartedAtMs: r.Run.StartedAtMs, FinishedAtMs: r.Run.FinishedAtMs,
		Worktree: r.Worktree,
	}
	if r.Run.Error != "" {
		doc.Error = &r.Run.Error
	}
	return doc
}

// TellResult prints the result r of a run, or doc with --json, see PrintResult. err is the error of the run. If err is
// nil, TellResult first notes that the run has finished, now or earlier. It returns err joined with an error of
// printing.
func TellResult(s *session.Session, r *app.Result, err error, doc any) error {
	switch {
	case err != nil:
	case r.Nothing:
		s.Note("run %s had already finished", plain.Text(r.Run.ID))
	default:
		s.Note("run %s finished at frame %d after %s", plain.Text(r.Run.ID), r.Run.Frame, display.Duration(r.Took))
	}
	return errors.Join(err, PrintResult(s, r, doc))
}

// PrintResult prints doc with --json, and otherwise the id of the run in r. If standard output is a terminal and a
// person reads the notes, PrintResult prints no id, because a note has already shown the id. A closed output is not an
// error.
func PrintResult(s *session.Session, r *app.Result, doc any) error {
	var err error
	switch {
	case s.JSON:
		err = s.WriteJSON(doc)
	case s.OutTTY && s.TalksToPerson(): // a note has already shown the id
	default:
		err = s.Printf("%s\n", plain.Text(r.Run.ID))
	}
	if errors.Is(err, term.ErrOutputClosed) {
		return nil
	}
	return err
}

// tellFrame notes a new frame: its number, its subject, and how many tasks of the run are done and wait.
func tellFrame(s *session.Session, p engine.Progress) {
	waiting := ""
	if p.Waiting > 0 {
		waiting = fmt.Sprintf(", %d waiting", p.Waiting)
	}
	s.Note("  frame %d  %s  (%d of %d done%s)", p.Frame, plain.Text(p.Subject), p.Finished+p.Skipped, p.Nodes, waiting)
}

// logsOf returns a writer for the logs of a run's tasks. It shows the logs on standard error.
func logsOf(s *session.Session, p term.Painter) io.Writer { return logWriter{s, p, ""} }

// NamedLogsOf returns a writer like logsOf, for a command that executes several runs at once: every line begins with
// the run's id. run is the id of the run.
func NamedLogsOf(s *session.Session, p term.Painter, run string) io.Writer {
	return logWriter{s, p, plain.Text(run) + ": "}
}

// logWriter prints the logs of tasks on standard error, without control characters.
type logWriter struct {
	s      *session.Session
	p      term.Painter // of standard error
	prefix string       // begins every line
}

// Write prints the lines of p on standard error, each after the prefix of w. p must have whole lines. Write never
// returns an error, so that a run does not depend on its logs.
func (w logWriter) Write(p []byte) (int, error) {
	for _, line := range w.p.Lines(string(p)) {
		w.s.Talk("%s%s\n", w.prefix, line)
	}
	return len(p), nil
}
