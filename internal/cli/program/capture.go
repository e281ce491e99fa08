package program

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// captureOptions has the options of capture.
type captureOptions struct {
	run   string
	batch bool
}

// captureAnswer is the line that capture prints for a new frame.
type captureAnswer struct {
	Kind string `json:"kind"`
	captures.Answer
}

// captureFailure is the line that capture --batch prints for a line that could not be captured.
type captureFailure struct {
	Kind  string                `json:"kind"`
	ID    string                `json:"id,omitempty"`
	Error session.ErrorDocument `json:"error"`
}

func captureCommand() *arg.Command {
	return &arg.Command{
		Name:    "capture",
		Summary: "append a frame to a run, for programs and other engines",
		Usage:   []string{"<id> [--batch]"},
		About: `Reads a capture, one JSON object, from standard input: a whole state, or changes to the
newest state of the run, with events, the rendered frame and the revision of the working
copy. Prints {"kind","id","frame","commit","contentHash"} once the frame is on stable
storage. If the run does not exist, capture creates it. "git smithers help scripting" has
the schema.

"ids":["call_1","call_2"] in a capture gives the frame ids. <run>@<id> is then the newest
frame with that id.

--batch reads one capture per line and answers each with one line, in order, until the input
ends. If a line fails, the answer is {"kind","id","error"}, and capture reads the next line.
A repeated "id" gets the same answer as the first time.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "batch", Usage: "read one capture per line and answer each"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"set one node", `echo '{"changes":[{"op":"set","collection":"loops","key":"review","value":{"iteration":1,"done":false}}]}' | git smithers capture triage-1`},
			{"append frames for as long as an engine runs", "git smithers capture triage-1 --batch"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts := captureOptions{run: c.Args().First(), batch: c.Bool("batch")}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runCapture(ctx, s, store, opts) })
		},
	}
}

// runCapture reads one capture from standard input or, with --batch, one capture from each line. It appends each
// capture to the run as a frame, and prints a document for each capture.
func runCapture(ctx context.Context, s *session.Session, store *timeline.Store, opts captureOptions) error {
	capturer, err := captures.Open(ctx, store, opts.run)
	if err != nil {
		return err
	}
	told := func() { // a capture says what state the run has come to
		if head := capturer.Head(); head != nil {
			list.NoteHere(store, opts.run)
			requests.Open(s, store).Notify(ctx, head)
		}
	}
	if opts.batch {
		return captureBatch(ctx, s, capturer, told)
	}
	data, err := s.ReadStdin(term.MaxDocument)
	if err != nil {
		return err
	}
	answer, err := captureOne(ctx, capturer, data)
	if err != nil {
		return err
	}
	told()
	return s.WriteJSON(captureAnswer{"capture", answer})
}

// captureOne captures the frame that data describes, and returns the answer for the caller. The error is limit_exceeded
// if data is too long, or an error of captures.ParseCapture or of the capture.
func captureOne(ctx context.Context, capturer *captures.Capturer, data []byte) (captures.Answer, error) {
	req, err := parseCapture(data)
	if err != nil {
		return captures.Answer{}, err
	}
	return capturer.Capture(ctx, req)
}

// parseCapture parses a capture. The error is limit_exceeded if data is too long, or an error of captures.ParseCapture.
func parseCapture(data []byte) (*captures.Capture, error) {
	if len(data) > term.MaxDocument {
		return nil, fault.New(fault.LimitExceeded, "the capture is longer than %d bytes", term.MaxDocument)
	}
	return captures.ParseCapture(data)
}

// A batch is at most so many lines, with at most so many bytes before the last.
const (
	batchLines = 64
	batchBytes = 1 << 20
)

// captureBatch captures each line of standard input, and prints a document for each line, until the input ends. The lines that wait
// in the input are captured together. It skips empty lines. If a line cannot be captured, the document has the error, and captureBatch
// continues with the next line. It returns an error only if ctx ends, or if reading or printing fails. It calls captured after captures.
func captureBatch(ctx context.Context, s *session.Session, capturer *captures.Capturer, captured func()) error {
	lines := term.NewLines(s.In, term.MaxDocument)
	var waiting [][]byte
	size := 0
	for line, err := range lines.All() {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			waiting, size = append(waiting, line), size+len(line)
		}
		if lines.More() && len(waiting) < batchLines && size < batchBytes {
			continue
		}
		if err := captureLines(ctx, s, capturer, waiting, captured); err != nil {
			return err
		}
		waiting, size = nil, 0
	}
	return nil
}

// captureLines captures lines, and prints a document for each.
func captureLines(ctx context.Context, s *session.Session, capturer *captures.Capturer, lines [][]byte, captured func()) error {
	outcomes := make([]captures.Outcome, len(lines))
	var reqs []*captures.Capture
	var of []int // the lines of reqs
	for i, line := range lines {
		req, err := parseCapture(line)
		if outcomes[i].Err = err; err == nil {
			reqs, of = append(reqs, req), append(of, i)
		}
	}
	for i, outcome := range capturer.CaptureAll(ctx, reqs) {
		outcomes[of[i]] = outcome
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if slices.ContainsFunc(outcomes, func(o captures.Outcome) bool { return o.Err == nil }) {
		captured()
	}
	for i, outcome := range outcomes {
		var document any = captureAnswer{"capture", outcome.Answer}
		if outcome.Err != nil {
			document = captureFailure{"capture", captureID(lines[i]), session.DocumentOf(s.Describe(outcome.Err))}
		}
		if err := s.WriteJSON(document); err != nil {
			return err
		}
	}
	return nil
}

// captureID returns the member id of a line that could not be captured. It returns "" if the line has no such member or
// is not a JSON object.
func captureID(line []byte) string {
	var named struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(line, &named) != nil {
		return ""
	}
	return named.ID
}
