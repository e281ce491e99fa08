package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Bounds of what a scorer says.
const (
	maxScoreOutput = 1 << 20  // bytes of stdout
	maxScoreMeta   = 64 << 10 // bytes of meta
	maxScoreReason = 16 << 10 // bytes of the reason; of a longer one, the beginning is kept
	maxScoreStderr = 4 << 10  // bytes of the end of stderr that are read for the error
)

// scorerVariable names the scorer in its environment.
const scorerVariable = "SMITHERS_SCORER"

// scorerContext is the JSON that a scorer reads on stdin. docs/workflow-reference.md describes its members.
type scorerContext struct {
	Run       string          `json:"run"`
	Node      string          `json:"node"`
	Iteration int             `json:"iteration"`
	Attempt   int             `json:"attempt"`
	Scorer    string          `json:"scorer"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"` // null if the attempt has none
}

// scoring is one execution of a scorer. Its fields do not change.
type scoring struct {
	scorer *workflow.Scorer
	source string // of the score
	run    string
	of     snapshot.Attempt
	stdin  []byte
	env    []string // the whole environment
	// Where the scorer runs: in dir, or in a new folder with the files of tree if that is set, or in an empty one if scratch is set.
	dir     string
	tree    objstore.ID
	scratch bool
	opts    *Options
	stderr  io.Writer // may be nil

	sandbox *sandbox.Spec // nil for none
	given   []string      // the variables that a sandbox leaves in
}

// newScoring returns the execution of a scorer on the result of an attempt. env is the environment of the task. The caller sets where it
// runs.
func newScoring(s *workflow.Scorer, source, run string, of snapshot.Attempt, env []string, input, output json.RawMessage, opts *Options) (*scoring, error) {
	text, err := jsontext.Encode(scorerContext{
		Run: run, Node: of.NodeID, Iteration: of.Iteration, Attempt: of.Attempt, Scorer: s.Name, Input: input, Output: output,
	})
	if err != nil {
		return nil, err
	}
	return &scoring{
		scorer: s, source: source, run: run, of: of, stdin: append(text, '\n'), env: append(env, scorerVariable+"="+s.Name), opts: opts,
	}, nil
}

// scored is the end of a scoring: a score, or the reason why there is none.
type scored struct {
	*scoring

	score snapshot.Score
	err   error
}

// execute runs the scorer and reads its score. The end of ctx ends the scorer.
func (s *scoring) execute(ctx context.Context) scored {
	started := s.opts.Now()
	said, err := s.ask(ctx)
	ended := s.opts.Now()
	took := max(ended.Sub(started).Milliseconds(), 0)
	row := snapshot.Score{
		NodeID: s.of.NodeID, Iteration: s.of.Iteration, Attempt: s.of.Attempt, Source: s.source, ScorerID: s.scorer.Name,
		Score: said.Score, Reason: said.Reason, Meta: said.Meta, ScoredAtMs: ended.UnixMilli(), DurationMs: &took,
	}
	if s.of.FinishedAtMs != nil {
		row.LatencyMs = new(max(*s.of.FinishedAtMs-s.of.StartedAtMs, 0))
	}
	return scored{s, row, err}
}

// ask runs the scorer in its folder and returns what it says.
func (s *scoring) ask(ctx context.Context) (said said, err error) {
	dir := s.dir
	if s.scratch || !s.tree.IsZero() {
		if dir, err = os.MkdirTemp("", "smithers-score-"); err != nil {
			return said, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if !s.tree.IsZero() {
			if err := s.opts.Extract(ctx, s.tree, dir); err != nil {
				return said, fmt.Errorf("the files could not be written: %w", err)
			}
		}
	}
	limit := s.scorer.Limit()
	ctx, release := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer release()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stdout := &boundedOutput{limit: maxScoreOutput, over: func() { stop(errTooMuch) }}
	stderr := &tailOutput{limit: maxScoreStderr}
	c := command{line: s.scorer.ShellLine(), dir: dir, env: s.env, stdin: s.stdin, stdout: stdout, stderr: stderr, grace: s.opts.Grace, hurry: s.opts.Hurry}
	if s.stderr != nil {
		c.stderr = io.MultiWriter(stderr, s.stderr)
	}
	left, refused := c.confine(ctx, s.sandbox, s.opts, s.given)
	defer left()
	if refused != nil {
		return said, errors.New(refused.text)
	}
	if commands := s.opts.Commands; commands != nil {
		name := snapshot.ScoreKey(s.of.NodeID, s.of.Iteration, s.of.Attempt, s.source, s.scorer.Name)
		c.began = func(leader int) { _ = commands.Began(name, leader) }
		defer commands.Ended(name)
	}
	end, err := c.run(ctx)
	if dir == s.dir { // in a folder of its own, a scorer does what it likes
		if made := c.madeRepository(nil); made != nil {
			return said, errors.New(made.text)
		}
	}
	switch cause := context.Cause(ctx); {
	case err != nil && !end.cut && cause == nil:
		return said, errors.New(whyNotStarted(err, dir))
	case (end.cut || err != nil) && errors.Is(cause, errTooMuch):
		return said, fmt.Errorf("it prints more than %d bytes", maxScoreOutput)
	case (end.cut || err != nil) && errors.Is(cause, errTimeout):
		return said, fmt.Errorf("it gives no score within %v", limit)
	case end.cut || err != nil:
		return said, errCancelled
	case end.status == nil:
		return said, fmt.Errorf("it was ended by signal: %s", end.signal)
	case *end.status != 0:
		return said, fmt.Errorf("exit status %s%s", strconv.Itoa(*end.status), stderr.last())
	}
	said, err = readScore(stdout.data)
	return said, err
}

// said is what a scorer prints.
type said struct {
	Score  json.RawMessage `json:"score"`
	Reason string          `json:"reason"`
	Meta   json.RawMessage `json:"meta"`
}

// readScore reads the JSON that a scorer prints: a number, or an object with the members score, reason and meta.
func readScore(stdout []byte) (said, error) {
	text, value, err := schema.DecodeValue(stdout)
	if err != nil {
		return said{}, fmt.Errorf("it prints no score: %w", err)
	}
	var out said
	if _, isObject := value.(map[string]any); isObject {
		if err := json.Unmarshal(text, &out); err != nil {
			return said{}, fmt.Errorf("it prints no score: %w", err)
		}
	} else {
		out.Score = text
	}
	if !snapshot.IsScore(out.Score) {
		return said{}, errors.New(`it prints no score: print a number, or {"score": NUMBER, "reason": TEXT}`)
	}
	if string(out.Meta) == "null" {
		out.Meta = nil
	}
	if len(out.Meta) > maxScoreMeta {
		return said{}, fmt.Errorf("the meta that it prints is larger than %d bytes", maxScoreMeta)
	}
	out.Reason = plain.Cut(out.Reason, maxScoreReason)
	return out, nil
}

// tailOutput keeps the end of the written bytes.
type tailOutput struct {
	limit int // in bytes
	data  []byte
}

// Write adds p. It always returns len(p) and nil.
func (o *tailOutput) Write(p []byte) (int, error) {
	o.data = append(o.data, p...)
	if over := len(o.data) - o.limit; over > 0 {
		o.data = append(o.data[:0], o.data[over:]...)
	}
	return len(p), nil
}

// last returns ": " and the last line that is not blank, or "" if there is none.
func (o *tailOutput) last() string {
	for _, line := range slices.Backward(plain.Lines(string(o.data))) {
		if line != "" {
			return ": " + plain.Cut(line, maxSubject)
		}
	}
	return ""
}

// closedGate returns why the scorer's gate does not let the attempt through, or nil if it does. Without a score, a gate is closed.
func (s scored) closedGate() *reason {
	name, gate := s.scorer.Name, s.scorer.Gate
	switch {
	case errors.Is(s.err, errCancelled):
		return &reason{reasonCancelled, "the run was cancelled"}
	case s.err != nil:
		return &reason{reasonGate, fmt.Sprintf("scorer %s: %v", name, s.err)}
	case gate.Open(s.score.Value()):
		return nil
	}
	text := fmt.Sprintf("scorer %s gave %s, and its gate is %s", name, s.score.Score, gate.Text)
	if s.score.Reason != "" {
		text += ": " + plain.Cut(plain.Text(s.score.Reason), maxSubject)
	}
	return &reason{reasonGate, text}
}
