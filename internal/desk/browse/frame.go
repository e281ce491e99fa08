package browse

import (
	"context"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Frame is a frame beside another one of its run or of any run.
type Frame struct {
	At, Against timeline.Address              // Against is the zero Address if there is nothing to compare with
	State       *diff.Result                  // from Against to At; nil if there is nothing to compare with
	Total       Totals                        // of the state at At
	Nodes       map[string]snapshot.NodeState // the states at At by the keys of nodes; nil above maxNodes
	Code        []Files                       // that differ; sorted by worktree
	NoFiles     bool                          // one of the two frames has no captured files
}

// maxNodes is the largest number of nodes whose states a Frame has.
const maxNodes = 5000

// Totals are numbers of rows of a state.
type Totals struct{ Nodes, Outputs int }

// Files are the changed files of one working copy.
type Files struct {
	Worktree string // the task whose own worktree it is; "" for the one that tasks share
	Changes  []files.FileDiff
}

// Frame compares the frame at with the frame against, which may be the zero Address: then only totals are read.
func (r *Reader) Frame(ctx context.Context, against, at timeline.Address) (*Frame, error) {
	out := &Frame{At: at, Against: against}
	is, err := r.Store.At(ctx, at)
	if err != nil {
		return nil, err
	}
	state, err := is.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out.Total.Nodes = state.Nodes().Len()
	for _, table := range state.Tables() {
		out.Total.Outputs += state.Outputs(table).Len()
	}
	if out.Total.Nodes <= maxNodes {
		out.Nodes = make(map[string]snapshot.NodeState, out.Total.Nodes)
		for n, err := range state.AllNodes() {
			if err != nil {
				return nil, timeline.Explain(err)
			}
			out.Nodes[snapshot.Key(n.NodeID, n.Iteration)] = n.State
		}
	}
	if against == (timeline.Address{}) {
		return out, nil
	}
	was, err := r.Store.At(ctx, against)
	if err != nil {
		return nil, err
	}
	before, err := was.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if out.State, err = diff.States(before, state); err != nil {
		return nil, timeline.Explain(err)
	}
	return out, r.code(ctx, out, was.Entry, is.Entry)
}

// code sets Code and NoFiles.
func (r *Reader) code(ctx context.Context, out *Frame, from, to *snapshot.Entry) error {
	captured, err := files.EachChanged(r.Store, from, to, func(task string, was, is objstore.ID) error {
		changes, err := files.DiffTrees(ctx, r.Store, was, is, files.DefaultDiffLimits())
		out.Code = append(out.Code, Files{task, changes})
		return err
	})
	out.NoFiles = !captured
	return err
}
