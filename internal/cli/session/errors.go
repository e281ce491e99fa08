package session

import (
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/thrown"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// reportURL is the page on which people report bugs.
const reportURL = "https://github.com/git-smithers/git-smithers/issues"

// ErrorDocument is the JSON document of an error.
type ErrorDocument struct {
	Kind    string         `json:"kind"`
	Code    fault.Code     `json:"code"`
	Exit    int            `json:"exit"`
	Message string         `json:"message"`
	Hints   []string       `json:"hints"`
	Details map[string]any `json:"details"`
}

// Report prints the error err on standard error, and returns the exit status of the process. With --json, it prints err
// as a document. If err is nil or wraps term.ErrOutputClosed, Report prints nothing and returns 0.
func (s *Session) Report(err error) int {
	if err == nil || errors.Is(err, term.ErrOutputClosed) {
		return fault.ExitOK
	}
	e := s.Describe(err)
	if s.JSON {
		s.TalkJSON(DocumentOf(e))
		return e.Exit()
	}
	s.tellError(e)
	return e.Exit()
}

// tellError prints the error e for people. If e has the flaws of a workflow file, tellError prints each flaw with its
// hint. Otherwise it prints the message of e and its hints. The word error precedes a message, except for run_waiting:
// waiting is not an error.
func (s *Session) tellError(e *fault.Error) {
	if flaws, ok := e.Details[workflow.DetailFlaws].([]workflow.Flaw); ok {
		for _, flaw := range flaws {
			s.Talk("git-smithers: error: %s\n", plain.Text(plain.OneLine(flaw.Message)))
			if flaw.Hint != "" {
				s.Talk("git-smithers: hint: %s\n", plain.Text(flaw.Hint))
			}
		}
		return
	}
	kind := "error: "
	if e.Code == fault.RunWaiting {
		kind = ""
	}
	s.Talk("git-smithers: %s%s\n", kind, plain.Text(e.Msg))
	if failed, ok := e.Details[engine.DetailFailed].([]engine.FailedTask); ok {
		s.tellFailed(failed)
	}
	for _, hint := range e.Hints {
		s.Talk("git-smithers: hint: %s\n", plain.Text(hint))
	}
}

// tellFailed prints the ends of the logs of tasks that failed.
func (s *Session) tellFailed(failed []engine.FailedTask) {
	const most = 5
	for i, task := range failed {
		if i == most {
			s.Talk("  and %s\n", plain.Count(len(failed)-most, "other task"))
			return
		}
		if len(failed) > 1 {
			s.Talk("  %s\n", plain.Text(plain.OneLine(task.Error)))
		}
		for _, line := range task.Log {
			s.Talk("  | %s\n", plain.Shorten(strings.Join(plain.Lines(plain.Uncolored(line)), " "), maxTailLine))
		}
	}
}

// maxTailLine is how many characters are printed of a line of a log after a failure.
const maxTailLine = 500

// inOneLine returns a copy of e with a message of one line. The message of e may have several lines if it quotes
// another program.
func inOneLine(e *fault.Error) *fault.Error {
	out := *e
	out.Msg = plain.OneLine(e.Msg)
	return &out
}

// DocumentOf returns the JSON document of the error e. The hints and details in the document are never nil, so that
// they are not null in JSON.
func DocumentOf(e *fault.Error) ErrorDocument {
	doc := ErrorDocument{"error", e.Code, e.Exit(), e.Msg, e.Hints, e.Details}
	if doc.Hints == nil {
		doc.Hints = []string{}
	}
	if doc.Details == nil {
		doc.Details = map[string]any{}
	}
	return doc
}

// Describe returns err as an error with a code and a message of one line. If timeline.Explain finds no code for err, or
// the code internal, err is a bug, because every expected error has a code of its own. For a bug, the code is internal,
// and the hints say how to report the bug. If GIT_SMITHERS_DEBUG is 1 and the bug is a panic, Describe also prints the
// stack of the panic.
func (s *Session) Describe(err error) *fault.Error {
	known, ok := errors.AsType[*fault.Error](timeline.Explain(err))
	if !ok {
		known = fault.New(fault.Internal, "%w", err)
	}
	known = inOneLine(known)
	if known.Code != fault.Internal {
		return known
	}
	bug := *known
	bug.Msg = "internal error: " + known.Msg
	bug.Hints = append(slices.Clone(bug.Hints), "this is a bug: report it at "+reportURL)
	if debug, _ := s.LookupEnv("GIT_SMITHERS_DEBUG"); debug != "1" {
		bug.Hints = append(bug.Hints, "run the command again with GIT_SMITHERS_DEBUG=1 to see where the error occurred")
	} else if panicked, ok := errors.AsType[*thrown.Error](err); ok {
		s.Talk("%s\n", panicked.Stack)
	}
	return &bug
}
