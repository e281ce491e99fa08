package session

import (
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/engine/workflow"
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

// Report prints err, for people or as JSON, and returns the exit status. If err is nil or says that the output was
// closed, it prints nothing and returns 0.
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

// tellError prints an error for people. If the error has the flaws of a workflow file, it prints the flaws and their
// hints. Otherwise it prints the message and the hints of the error; before the message of a run that waits, it leaves
// out the word error.
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
	for _, hint := range e.Hints {
		s.Talk("git-smithers: hint: %s\n", plain.Text(hint))
	}
}

// inOneLine returns a copy of e whose message has one line, even if the message quotes another program.
func inOneLine(e *fault.Error) *fault.Error {
	out := *e
	out.Msg = plain.OneLine(e.Msg)
	return &out
}

// DocumentOf returns the JSON document of an error. The hints and the details in it are never nil.
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

// Describe returns the coded error in err, with a message of one line. An error without a code is a bug, because every
// expected error has a code. The result then has the code internal, and its hints say how to report the bug. With
// GIT_SMITHERS_DEBUG=1, Describe also prints the stack of a panic.
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
