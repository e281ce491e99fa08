package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ScoreRequest asks for scores of the finished tasks of a run.
type ScoreRequest struct {
	Address  string // of a run, by its whole id, or of a frame of it
	Node     string // the only task to score; "" means every finished task
	Scorer   *workflow.Scorer
	Again    bool // also score what the scorer has scored
	Parallel int
	FilesTrust
}

// ScoreResult is the result of a ScoreRequest.
type ScoreResult struct {
	Run    string
	Scores []snapshot.Score // in the order in which the attempts began
	Failed int              // the attempts for which the scorer gave none
	Had    int              // the attempts that the scorer had scored before
}

// Score runs a scorer on the newest attempts of the finished tasks of a run, each in a new folder with the files of the attempt, and
// adds the scores to the run. A scorer that gives no score is a warning. The result is valid with an error. The codes are those of
// OpenToChange, node_not_found, and run_cancelled if ctx ends.
func (d *Desk) Score(ctx context.Context, req ScoreRequest) (*ScoreResult, error) {
	head, at, err := d.Store.OpenToChange(ctx, req.Address)
	if err != nil {
		return nil, err
	}
	out := &ScoreResult{Run: head.Row().ID}
	entry := head.Entry()
	if at != nil {
		entry = at.Entry
	}
	attempts, err := out.choose(head, entry, req)
	if err != nil || len(attempts) == 0 {
		return out, timeline.Explain(err)
	}
	check := &filesCheck{Desk: d, FilesTrust: req.FilesTrust, entry: entry, brought: true}
	if err := check.agreeToFiles([]command{{Command: req.Scorer.Run}}); err != nil {
		return out, err
	}
	opts, err := d.besideOptions(head.Entry())
	if err != nil {
		return out, err
	}
	opts.Extract = func(ctx context.Context, tree objstore.ID, dir string) error {
		return files.Extract(ctx, d.Store.Objects(), tree, dir)
	}
	update, over := d.Teller.Count(Scoring)
	defer over()
	done := 0
	err = engine.Score(ctx, head, engine.ScoreRequest{
		Run: out.Run, Scorer: req.Scorer, Attempts: attempts, Parallel: req.Parallel,
		Told: func(a snapshot.Attempt, score snapshot.Score, err error) {
			done++
			update(done, len(attempts))
			if err == nil {
				out.Scores = append(out.Scores, score)
				return
			}
			out.Failed++
			if ctx.Err() == nil {
				d.Teller.Warn(fmt.Errorf("task %s: scorer %s gave no score: %w", a.NodeID, req.Scorer.Name, err))
			}
		},
	}, opts)
	// The scorers ended in any order.
	slices.SortFunc(out.Scores, func(a, b snapshot.Score) int { return cmp.Compare(out.place(attempts, a), out.place(attempts, b)) })
	return out, err
}

// place returns the position of the attempt of a score.
func (out *ScoreResult) place(attempts []engine.ScoredAttempt, score snapshot.Score) int {
	return slices.IndexFunc(attempts, func(a engine.ScoredAttempt) bool {
		return a.NodeID == score.NodeID && a.Iteration == score.Iteration && a.Attempt.Attempt == score.Attempt
	})
}

// choose returns the attempts to score, with what the scorer is given. It counts those that need no score.
func (out *ScoreResult) choose(head *timeline.Head, entry *snapshot.Entry, req ScoreRequest) ([]engine.ScoredAttempt, error) {
	state, err := entry.State()
	if err != nil {
		return nil, err
	}
	input, err := state.Input()
	if err != nil {
		return nil, err
	}
	if input, err = timeline.WholeInput(head.Reveal, input, nil); err != nil {
		return nil, err
	}
	attempts, err := newestFinished(entry)
	if err != nil {
		return nil, err
	}
	scores, err := head.Entry().Scores()
	if err != nil {
		return nil, err
	}
	var chosen []engine.ScoredAttempt
	known := false
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, err
		}
		if req.Node != "" && n.NodeID != req.Node {
			continue
		}
		known = true
		a, found := attempts[snapshot.Key(n.NodeID, n.Iteration)]
		if n.State != snapshot.NodeFinished || !found {
			continue
		}
		_, had, err := scores.Get(snapshot.ScoreKey(a.NodeID, a.Iteration, a.Attempt, snapshot.ScoreBatch, req.Scorer.Name))
		switch {
		case err != nil:
			return nil, err
		case had && !req.Again:
			out.Had++
			continue
		}
		one := engine.ScoredAttempt{Attempt: a, Input: input}
		if one.Output, err = outputOf(head, state, n); err != nil {
			return nil, err
		}
		chosen = append(chosen, one)
	}
	if req.Node != "" && !known {
		return nil, fault.New(fault.NodeNotFound, "run %s has no task %s", out.Run, req.Node)
	}
	slices.SortStableFunc(chosen, func(a, b engine.ScoredAttempt) int { return cmp.Compare(a.StartedAtMs, b.StartedAtMs) })
	return chosen, nil
}

// newestFinished returns the newest attempt of each node that has finished, by the node's key. A node may not say which it is: Smithers' do not.
func newestFinished(entry *snapshot.Entry) (map[string]snapshot.Attempt, error) {
	newest := make(map[string]snapshot.Attempt)
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return nil, err
		}
		if key := snapshot.Key(a.NodeID, a.Iteration); a.State == snapshot.AttemptFinished && a.Attempt > newest[key].Attempt {
			newest[key] = a
		}
	}
	return newest, nil
}

// outputOf returns the output of a node with its secrets, or nil if it has none.
func outputOf(head *timeline.Head, state *snapshot.State, n snapshot.Node) ([]byte, error) {
	if n.OutputTable == "" {
		return nil, nil
	}
	key := snapshot.Key(n.NodeID, n.Iteration)
	value, found, err := state.Outputs(n.OutputTable).Get(key)
	if err != nil || !found {
		return nil, err
	}
	return head.Reveal(snapshot.Place{Collection: snapshot.OutputCollection(n.OutputTable), Key: key}, value)
}
