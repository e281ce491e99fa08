package timeline

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// FirstFrame returns the first frame of the line of run: frame 0 of the run or, for a fork, of the run that it descends
// from. run is an id or a unique prefix. The entry's Run and Frame are those of the run that wrote the entry; this repository need
// not have that run. The error is frame_not_found if the run has no frame.
func FirstFrame(ctx context.Context, s *Store, run string) (*snapshot.Entry, error) {
	id, tip, err := s.FindRun(ctx, run, ToRead)
	if err != nil {
		return nil, err
	}
	at, err := s.LoadFrame(ctx, Address{Run: id}, tip)
	if err != nil {
		return nil, err
	}
	first := at.Entry.Stored()
	for {
		row, err := first.RunRow()
		if err != nil {
			return nil, Explain(err)
		}
		switch {
		case first.Frame != 0: // the frame of a parent from which a fork was made
			first, err = s.FrameInChain(row, first, 0)
		case row.Parent != nil:
			first, err = snapshot.ReadEntry(s.objects, row.Parent.Commit)
		default:
			return first, nil
		}
		if err != nil {
			return nil, Explain(err)
		}
	}
}
