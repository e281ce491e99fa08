package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// GroupScoreRequest asks to score the variants of a group with a command.
type GroupScoreRequest struct {
	Group    *group.Group
	Scorer   *workflow.Scorer // its name, its command and its timeout
	Parallel int              // how many commands run at once
	Output   io.Writer        // gets what the commands print; safe for concurrent use
	// Told is called after each command, from one goroutine at a time, once its score is stored. err says why there is no score. May be nil.
	Told func(v *group.Variant, score *group.Score, err error)
	FilesTrust
}

// groupScoring is a GroupScoreRequest at work.
type groupScoring struct {
	*GroupScoreRequest
	desk *Desk
	head *timeline.Head // of the group
	atMs int64          // when the scores are given: after all scores of before

	mu sync.Mutex // for head and Told
}

// ScoreGroup runs a command on the newest files of each variant that has a run and has not failed, each time in a scratch worktree, and keeps what it gives
// as scores of the group. The last line that the command prints on standard output is the score, if it is a number or {"score": NUMBER, "reason": TEXT};
// otherwise the score is 1. If the exit status is not 0, the score is 0 and the variant is no winner. Codes: untrusted_files; no_best if there is no
// variant to score; those of files.OpenScratch.
func ScoreGroup(ctx context.Context, d *Desk, req *GroupScoreRequest) error {
	g := &groupScoring{GroupScoreRequest: req, desk: d, atMs: d.Now().UnixMilli()}
	var variants []*group.Variant
	for _, v := range req.Group.Variants {
		if v.Score != nil {
			g.atMs = max(g.atMs, v.Score.AtMs+1)
		}
		if v.Head() == nil || v.Status == string(snapshot.RunFailed) {
			continue
		}
		if vcs, err := v.Head().Entry().VCSRevision(); err != nil || vcs == nil || vcs.Tree.IsZero() {
			continue
		}
		check := &filesCheck{Desk: d, FilesTrust: req.FilesTrust, entry: v.Head().Entry(), brought: true}
		if err := check.agreeToFiles([]command{{Command: req.Scorer.Run}}); err != nil {
			return err
		}
		variants = append(variants, v)
	}
	if len(variants) == 0 {
		return fault.New(fault.NoBest, "no variant of %s has files to score", req.Group.Row.ID).Detail("runId", req.Group.Row.ID).
			Hint("`%s` shows the variants", fault.CommandLine(fault.Program, "show", req.Group.Row.ID))
	}
	var err error
	if g.head, err = d.Store.Head(ctx, req.Group.Row.ID); err == nil {
		_, err = files.SweepScratches(ctx, d.Store, false)
	}
	if err != nil {
		return err
	}
	queue := make(chan *group.Variant)
	ends := make([]error, min(max(req.Parallel, 1), len(variants)))
	var working sync.WaitGroup
	for i := range ends {
		working.Go(func() {
			for v := range queue {
				ends[i] = errors.Join(ends[i], g.score(ctx, v))
			}
		})
	}
	for _, v := range variants {
		queue <- v
	}
	close(queue)
	working.Wait()
	if ctx.Err() != nil {
		return timeline.Explain(context.Cause(ctx))
	}
	return errors.Join(ends...)
}

// score runs the command on a variant and stores the score. That the command gives no score is no error.
func (g *groupScoring) score(ctx context.Context, v *group.Variant) error {
	if ctx.Err() != nil {
		return nil // ScoreGroup returns it
	}
	score, err := g.execute(ctx, v)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		err = g.keep(ctx, v, score)
	}
	if ctx.Err() != nil {
		return nil
	}
	if g.Told != nil {
		g.Told(v, score, err)
	}
	if code := fault.CodeOf(err); code == fault.ProbeFailed {
		return nil
	}
	return err
}

// execute runs the command on a variant. Code: probe_failed if it gives no score.
func (g *groupScoring) execute(ctx context.Context, v *group.Variant) (_ *group.Score, err error) {
	entry := v.Head().Entry()
	opts, err := g.desk.besideOptions(entry)
	if err != nil {
		return nil, err
	}
	values, err := v.Values()
	if err != nil {
		return nil, err
	}
	stdin, err := jsontext.Encode(values)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	scratch, err := files.OpenScratch(ctx, g.desk.Store, entry)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scratch.Close(ctx)) }()
	if _, err := g.desk.Equip(ctx, scratch.WorkingCopy, files.Equipment{Confined: opts.SandboxRequired}); err != nil {
		return nil, err
	}
	limited, over := context.WithTimeout(ctx, g.Scorer.Limit())
	defer over()
	said := &scoreOutput{next: g.Output}
	frame := v.Head().Row().Frame
	status, signal, err := engine.Probe{
		Run: v.RunID, Frame: frame, Line: g.Scorer.ShellLine(), Dir: scratch.Root(), Stdin: append(stdin, '\n'), Stdout: said, Output: g.Output,
	}.Execute(limited, opts)
	switch {
	case ctx.Err() != nil:
		return nil, timeline.Explain(context.Cause(ctx))
	case limited.Err() != nil:
		return nil, fault.New(fault.ProbeFailed, "the command gives no score within %v", g.Scorer.Limit())
	case err != nil:
		return nil, err
	case signal != "":
		return nil, fault.New(fault.ProbeFailed, "the command was ended by the signal %s", signal)
	case status >= exitNotRun:
		return nil, fault.New(fault.ProbeFailed, "the command ended with status %d", status)
	}
	score := &group.Score{Scorer: g.Scorer.Name, Frame: frame, Status: status, AtMs: g.atMs}
	score.Value, score.Reason = readScore(said.last(), status)
	return score, nil
}

// readScore returns the score and its reason. line is the last line that the command has printed.
func readScore(line string, status int) (value float64, reason string) {
	if status != 0 {
		return 0, plain.Cut(strings.TrimSuffix(fmt.Sprintf("exit status %d: %s", status, line), ": "), maxScoreReason)
	}
	var said struct {
		Score  *float64
		Reason string
	}
	if json.Unmarshal([]byte(line), &value) == nil && snapshot.IsScore([]byte(line)) {
		return value, ""
	}
	if json.Unmarshal([]byte(line), &said) == nil && said.Score != nil {
		return *said.Score, plain.Cut(said.Reason, maxScoreReason)
	}
	return 1, ""
}

// keep stores the score of a variant in the run of the group.
func (g *groupScoring) keep(ctx context.Context, v *group.Variant, score *group.Score) error {
	row, err := score.Row(v.Number)
	if err != nil {
		return timeline.Explain(err)
	}
	return g.head.Update(ctx, func() (*snapshot.Draft, error) {
		return &snapshot.Draft{
			Journal: []snapshot.Change{snapshot.SetScore(row)}, AtMs: score.AtMs, Subject: fmt.Sprintf("%s gave %d %s", score.Scorer, v.Number, row.Score),
		}, nil
	})
}

// The bounds of what is kept of what the command prints, in bytes.
const (
	maxScoreLine   = 16 << 10
	maxScoreReason = 1 << 10
)

// scoreOutput keeps the end of what is written to it, and passes it on.
type scoreOutput struct {
	next io.Writer
	end  []byte
}

// Write adds p.
func (o *scoreOutput) Write(p []byte) (int, error) {
	o.end = append(o.end, p...)
	o.end = slices.Clone(o.end[max(0, len(o.end)-maxScoreLine):])
	return o.next.Write(p)
}

// last returns the last line that is not blank, or "".
func (o *scoreOutput) last() string {
	for line := range bytes.SplitSeq(bytes.TrimSpace(o.end), []byte("\n")) {
		o.end = line
	}
	return strings.TrimSpace(string(o.end))
}
