package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// brokenRefs notes ref files that are empty or hold no valid id. It leaves out refs with invalid names, because another
// check notes them. The refs of the user, and symbolic refs, have no repair: only a person knows their right value. For
// any other ref, the repair moves the file away and, if the right value is known, sets the ref to it.
func (e *examination) brokenRefs(ctx context.Context) error {
	for _, broken := range e.refs.Others {
		e.note(Finding{
			Kind: BrokenRef, Where: string(broken.Name),
			What: broken.Reason + ", so git commands fail" + wasAt(e.git.repo.CommonDir, broken.Name, "remove the file, then "),
		}, nil)
	}
	for _, item := range e.refs.Items {
		if item.Broken == nil {
			continue
		}
		broken, ok := errors.AsType[*refs.BrokenError](item.Broken)
		if !ok || !item.Ours {
			continue // another check reports invalid names
		}
		f := Finding{Kind: BrokenRef, What: broken.Reason, Where: string(item.Name)}
		if broken.Symbolic {
			e.note(f, nil) // git-smithers creates no symbolic refs, so a person must decide
			continue
		}
		id, what, err := e.rightValue(ctx, item.Name)
		if err != nil {
			return err
		}
		f.Repair = "moves the file away; " + what
		if broken.Empty() {
			f.Repair = "removes the file; " + what
		}
		e.note(f, func(ctx context.Context) error { return e.repairs.mendRef(ctx, item.Name, id) })
	}
	return nil
}

// rightValue returns the right value of the broken ref name, or the zero id if the value is unknown. It also returns a
// clause for Finding.Repair: how the ref gets its right value again, or why it does not.
func (e *examination) rightValue(ctx context.Context, name refs.Name) (id objstore.ID, what string, err error) {
	run := runOf(name)
	switch {
	case isIn(name, refs.TipsFolder), isIn(name, refs.HeldFolder):
		newest, err := e.entries.newest(ctx, run)
		if err != nil || newest == nil {
			return objstore.ID{}, "this repository has no entry of the run", err
		}
		return newest.ID, fmt.Sprintf("recreates the ref at %v, the run's newest entry in this repository", newest.ID), nil
	case isIn(name, refs.RemotesFolder):
		return objstore.ID{}, "the next fetch recreates the ref", nil
	case isIn(name, refs.GoneFolder):
		return objstore.ID{}, "if the run returns, prune it again", nil
	}
	_, frame, err := name.Split()
	if err != nil {
		return objstore.ID{}, "git-smithers recreates the ref if necessary", nil //nolint:nilerr // a ref without a frame number, such as _base
	}
	chain, err := e.chainOf(ctx, run)
	if right := chain[frame]; err == nil && !right.IsZero() {
		return right, fmt.Sprintf("recreates the ref at %v, the frame in the run's chain", right), nil
	}
	return objstore.ID{}, "the run has no such frame", err
}

// chainOf returns the ids of the entries of a run's frames, by frame number, as far as the run's chain is
// readable. The chain ends at the tip or, if the tip cannot be resolved, at the newest entry. chainOf returns
// nil if the run has no readable entry. It returns an error only if ctx has ended.
func (e *examination) chainOf(ctx context.Context, run string) (map[int64]objstore.ID, error) {
	tip, err := refs.Tip(run)
	if err != nil {
		return nil, nil //nolint:nilerr // run is the hash of an unknown id
	}
	id, err := e.store.Refs().Resolve(ctx, tip)
	if err != nil {
		newest, err := e.entries.newest(ctx, run)
		if err != nil || newest == nil {
			return nil, ctx.Err()
		}
		id = newest.ID
	}
	entry, err := snapshot.ReadEntry(e.store.Objects(), id)
	if err != nil {
		return nil, ctx.Err()
	}
	chain, _ := framesFrom(ctx, e.store, entry) // with an error, chain has the readable frames
	return chain, nil
}

// ignoreNotFound returns nil if err wraps refs.ErrNotFound, and otherwise err.
func ignoreNotFound(err error) error {
	if errors.Is(err, refs.ErrNotFound) {
		return nil
	}
	return err
}
