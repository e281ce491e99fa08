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

// Chain yields the entries of one run, newest first, from entry to the run's
// first. The entries of the run that it was forked from are not part of it, but for
// those of its extension; see snapshot.Chain.
func (s *Store) Chain(entry *snapshot.Entry) iter.Seq2[*snapshot.Entry, error] {
	return snapshot.Chain(s.objects, entry)
}

// FrameInChain finds a frame of the run whose row and tip are given, without any
// frame ref. A fork that changed nothing has its parent's frame as its frame 0.
func (s *Store) FrameInChain(row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if frame >= 0 && frame <= row.Frame {
		for entry, err := range s.Chain(tip) {
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

// repairFrameRefs makes the frame refs that a crash left out after the tip was moved: those of
// a series, and the newest one. Trouble with those of a series is a warning.
func (s *Store) repairFrameRefs(ctx context.Context, row snapshot.Run, tip *snapshot.Entry) error {
	if err := s.repairSeries(ctx, row.ID, tip); err != nil {
		s.warn(fmt.Errorf("make the frame refs of run %q: %w", row.ID, err))
	}
	return s.RepairNewestFrame(ctx, row, tip)
}

// RepairNewestFrame makes the frame ref that a crash between moving the tip and
// creating the ref left out. Frames before the newest have theirs: an append
// starts from a tip that was read here. A run that has ended and lacks that of the frame
// before, too, is sealed, and stays so. A repository that cannot be written is left as it
// is; frames are found through the chain all the same.
func (s *Store) RepairNewestFrame(ctx context.Context, row snapshot.Run, tip *snapshot.Entry) error {
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
	if errors.Is(err, refs.ErrNotFound) && row.Status.Ended() && !s.hasFrameRef(ctx, row.ID, row.Frame-1) {
		return nil
	}
	frame, findErr := s.FrameInChain(row, tip, row.Frame)
	if findErr != nil {
		return findErr
	}
	if repairErr := s.restoreFrameRef(ctx, row.ID, name, frame.ID, err); repairErr != nil {
		s.warn(fmt.Errorf("repair %s: %w", name, repairErr))
	}
	return nil
}

// hasFrameRef reports whether a frame of a run has a ref.
func (s *Store) hasFrameRef(ctx context.Context, run string, frame int64) bool {
	name, err := refs.Frame(run, frame)
	if err == nil {
		_, err = s.refs.Resolve(ctx, name)
	}
	return err == nil
}

// restoreFrameRef creates a missing frame ref, or one whose file holds no id.
// That somebody else did so first is success.
func (s *Store) restoreFrameRef(ctx context.Context, run string, name refs.Name, id objstore.ID, found error) error {
	// Whoever moved the tip may have died before it was on stable storage; a power cut
	// that takes it back must not leave the frame's ref.
	tip, err := refs.Tip(run)
	if err != nil {
		return err
	}
	if err := s.refs.Settle(ctx, tip); err != nil {
		return err
	}
	if errors.Is(found, refs.ErrBroken) {
		if err := s.refs.RemoveBroken(ctx, name); err != nil {
			return err
		}
	}
	err = s.refs.Apply(ctx, refs.Update{Name: name, New: id})
	var conflict *refs.ConflictError
	if errors.As(err, &conflict) && conflict.Actual == id {
		return nil
	}
	return err
}
