package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// brokenRefs finds ref files that are empty or hold garbage. Only the user knows the right value
// of their own refs.
func (e *examination) brokenRefs(ctx context.Context) error {
	for _, broken := range e.refs.Others {
		e.note(Finding{
			Kind: BrokenRef, Where: string(broken.Name),
			What: broken.Reason + ", and git stops at it" + wasAt(e.git.repo.CommonDir, broken.Name, "remove the file, then "),
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
			e.note(f, nil) // a person must have made it
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

// rightValue returns the right value of a broken ref; zero if it is unknown.
func (e *examination) rightValue(ctx context.Context, name refs.Name) (id objstore.ID, what string, err error) {
	run := runOf(name)
	switch {
	case isIn(name, refs.TipsFolder), isIn(name, refs.HeldFolder):
		newest, err := e.entries.newest(ctx, run)
		if err != nil || newest == nil {
			return objstore.ID{}, "nothing of the run is in this repository", err
		}
		return newest.ID, fmt.Sprintf("recreates the ref at %v, the run's newest entry in this repository", newest.ID), nil
	case isIn(name, refs.RemotesFolder):
		return objstore.ID{}, "the next fetch makes it anew", nil
	case isIn(name, refs.GoneFolder):
		return objstore.ID{}, "prune the run again if it comes back", nil
	}
	_, frame, err := name.Split()
	if err != nil {
		return objstore.ID{}, "nothing needs it", nil //nolint:nilerr // a ref like _base, which is made again when needed
	}
	chain, err := e.chainOf(ctx, run)
	if right := chain[frame]; err == nil && !right.IsZero() {
		return right, fmt.Sprintf("recreates the ref at %v, the frame in the run's chain", right), nil
	}
	return objstore.ID{}, "the run has no such frame", err
}

// chainOf returns the frames of a run from its tip or, if that is broken, from its newest entry.
func (e *examination) chainOf(ctx context.Context, run string) (map[int64]objstore.ID, error) {
	tip, err := refs.Tip(run)
	if err != nil {
		return nil, nil //nolint:nilerr // a hashed name of an unreadable run
	}
	var entry *snapshot.Entry
	if id, resolveErr := e.store.Refs().Resolve(ctx, tip); resolveErr == nil {
		entry, err = snapshot.ReadEntry(e.store.Objects(), id)
	} else {
		entry, err = e.entries.newest(ctx, run)
	}
	if err != nil || entry == nil {
		return nil, ctx.Err()
	}
	chain, _ := framesFrom(ctx, e.store, entry) // as far as the chain is readable
	return chain, nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, refs.ErrNotFound) {
		return nil
	}
	return err
}
