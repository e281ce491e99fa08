package timeline

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// chain yields the entries of one run, newest first, from entry to the run's
// first. The entries of the run that it was forked from are not part of it.
func (s *Store) chain(entry *snapshot.Entry) iter.Seq2[*snapshot.Entry, error] {
	return func(yield func(*snapshot.Entry, error) bool) {
		for run := entry.Run; ; {
			if !yield(entry, nil) || entry.Parent.IsZero() {
				return
			}
			previous, err := snapshot.ReadEntry(s.objects, entry.Parent)
			if err != nil {
				yield(nil, fmt.Errorf("entry before %v: %w", entry.ID, err))
				return
			}
			if previous.Run != run {
				return
			}
			entry = previous
		}
	}
}

// frameInChain finds a frame of the run whose row and tip are given, without any
// frame ref. A fork that changed nothing has its parent's frame as its frame 0.
func (s *Store) frameInChain(row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if frame >= 0 && frame <= row.Frame {
		for entry, err := range s.chain(tip) {
			if err != nil {
				return nil, Explain(err)
			}
			if entry.Frame == frame {
				return entry, nil
			}
		}
		if frame == 0 && row.Parent != nil {
			entry, err := snapshot.ReadEntry(s.objects, row.Parent.Commit)
			return entry, Explain(err)
		}
	}
	return nil, fault.New(fault.FrameNotFound, "run %q has no frame %d", row.ID, frame).
		Hint("its frames are 0 to %d", row.Frame).
		Detail("runId", row.ID).Detail("frame", frame).Detail("latest", row.Frame)
}

// repairNewestFrame makes the frame ref that a crash between moving the tip and
// creating the ref left out. Frames before the newest have theirs: an append
// starts from a tip that was read here. A repository that cannot be written is
// left as it is; frames are found through the chain all the same.
func (s *Store) repairNewestFrame(ctx context.Context, row snapshot.Run, tip *snapshot.Entry) error {
	name, err := refs.Frame(row.ID, row.Frame)
	if err != nil {
		return Explain(err)
	}
	_, err = s.refs.Resolve(ctx, name)
	if err == nil {
		return nil
	}
	if !errors.Is(err, refs.ErrNotFound) && !errors.Is(err, refs.ErrBroken) {
		return Explain(err)
	}
	frame, findErr := s.frameInChain(row, tip, row.Frame)
	if findErr != nil {
		return findErr
	}
	if repairErr := s.restoreFrameRef(ctx, name, frame.ID, err); repairErr != nil {
		s.warn(fmt.Errorf("repair %s: %w", name, repairErr))
	}
	return nil
}

// restoreFrameRef creates a missing frame ref, or one whose file holds no id.
// That somebody else did so first is success.
func (s *Store) restoreFrameRef(ctx context.Context, name refs.Name, id objstore.ID, found error) error {
	if errors.Is(found, refs.ErrBroken) {
		if err := s.refs.RemoveBroken(ctx, name); err != nil {
			return err
		}
	}
	err := s.refs.Apply(ctx, refs.Update{Name: name, New: id})
	var conflict *refs.ConflictError
	if errors.As(err, &conflict) && conflict.Actual == id {
		return nil
	}
	return err
}
