package share

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// sendFrames creates frame refs at the remote for the runs that are equal on both sides, up to
// smithers.remoteFrameRefs. It begins with the runs that were pushed or named, the newest first, and continues with the
// other runs. Without --frames, and in a dry run, it does nothing.
//
// sendFrames reads the frames from the chains, because a sealed run has no frame refs in this repository, and a
// local ref may be wrong. If a frame ref is not created, the run's result only has a reason. sendFrames returns
// the errors of the connection.
func (p *push) sendFrames(ctx context.Context) error {
	if !p.req.Frames || p.req.DryRun {
		return nil
	}
	moves, owner, err := p.frameMoves(ctx)
	if err != nil || len(moves) == 0 {
		return err
	}
	outcomes, err := p.transport().Push(ctx, p.to.Name, moves)
	for _, outcome := range outcomes {
		run := owner[outcome.Name]
		switch outcome.Status {
		case transport.Moved:
			run.Frames++
		case transport.UpToDate:
		case transport.Stale, transport.Refused, transport.Unreadable:
			run.Reason = cmp.Or(run.Reason, "not all frame refs were created: "+outcome.Reason)
		}
	}
	return p.to.Explain(err)
}

// frameMoves returns the moves that create frame refs, and owner, the run of each move. Runs that were pushed or named
// come first. The other runs follow only while smithers.remoteFrameRefs leaves room. If this limit or a damaged object
// leaves out frames of a run, frameMoves sets the run's reason.
func (p *push) frameMoves(ctx context.Context) (moves []transport.Move, owner map[refs.Name]*outgoingRun, err error) {
	owner = make(map[refs.Name]*outgoingRun)
	left := max(0, p.store.Settings().RemoteFrameRefs-int64(len(p.there.frames)))
	for _, meant := range []bool{true, false} {
		if !meant && left <= 0 {
			break
		}
		for _, run := range p.newestFirst(meant) {
			found, err := p.framesToMake(ctx, run, left)
			if isDamage(err) {
				run.Reason = cmp.Or(run.Reason, "not all frame refs were created: "+err.Error())
			} else if err != nil {
				return nil, nil, err
			}
			if left -= int64(len(found)); left < 0 { // one frame more than fits was found
				run.Reason = cmp.Or(run.Reason, "the remote has as many frame refs as smithers.remoteFrameRefs allows")
				found, left = found[:len(found)-1], 0
			}
			for _, move := range found {
				moves, owner[move.Name] = append(moves, move), run
			}
		}
	}
	return moves, owner, nil
}

// framesToMake returns the moves that create the missing frame refs of run at the remote, newest first. It returns at
// most limit+1 moves, so that limit+1 moves tell the caller that the limit is too low. With an error, it may also
// return moves for the frames before the fault.
func (p *push) framesToMake(ctx context.Context, run *outgoingRun, limit int64) (moves []transport.Move, err error) {
	for frame, err := range p.framesOf(run.Tip) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return moves, err
		}
		name, err := refs.Frame(run.RunID, frame.Frame)
		if err != nil {
			return nil, err
		}
		if p.there.frames[name] {
			continue
		}
		moves = append(moves, transport.Move{Name: name, How: transport.Create, New: frame.ID})
		if int64(len(moves)) > limit {
			break
		}
	}
	return moves, nil
}

// framesOf yields the frames of tip's run from the chain, newest first. If the run is a fork without an own entry for
// frame 0, its frame 0 is the parent's entry. After an error, the iteration ends.
func (s *Sharer) framesOf(tip objstore.ID) iter.Seq2[refs.FrameRef, error] {
	return func(yield func(refs.FrameRef, error) bool) {
		newest, err := snapshot.ReadEntry(s.store.Objects(), tip)
		if err != nil {
			yield(refs.FrameRef{}, err)
			return
		}
		oldest := snapshot.NoFrame
		for entry, err := range s.store.Chain(newest) {
			if err != nil {
				yield(refs.FrameRef{}, err)
				return
			}
			if entry.Frame == snapshot.NoFrame {
				continue
			}
			if oldest = entry.Frame; !yield(refs.FrameRef{Frame: oldest, ID: entry.ID}, nil) {
				return
			}
		}
		if oldest == 0 {
			return
		}
		row, err := newest.RunRow()
		switch {
		case err != nil:
			yield(refs.FrameRef{}, err)
		case row.Parent != nil: // frame 0 of a fork is an entry of the parent
			yield(refs.FrameRef{Frame: 0, ID: row.Parent.Commit}, nil)
		}
	}
}

// newestFirst returns runs that are equal on both sides, the run with the newest change first. If chosen is true,
// it returns the runs that were pushed or named. Otherwise, it returns the other runs. It leaves out runs whose
// tips cannot be read.
func (p *push) newestFirst(chosen bool) []*outgoingRun {
	var runs []*outgoingRun
	at := make(map[*outgoingRun]int64)
	for _, run := range p.runs {
		if run.State != StatePushed && run.State != StateCurrent || chosen != (run.named || run.State == StatePushed) {
			continue
		}
		tip, err := snapshot.ReadEntry(p.store.Objects(), run.Tip)
		if err != nil {
			continue // the command verify reports the damaged tip
		}
		runs, at[run] = append(runs, run), tip.AtMs
	}
	slices.SortStableFunc(runs, func(a, b *outgoingRun) int { return cmp.Compare(at[b], at[a]) })
	return runs
}
