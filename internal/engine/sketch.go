package engine

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Sketch is a run in memory, on which a dry run plans. It takes appends as a *timeline.Head does, and stores none of them: the repository stays
// as it is, and no other process sees the sketch. It must be used by one goroutine at a time.
type Sketch struct {
	store *timeline.Store
	batch *objstore.Batch // is never committed
	entry *snapshot.Entry
	row   snapshot.Run
	state *snapshot.State
}

// NewSketch returns a sketch of the run whose newest entry is entry, with further entries that are made of drafts. If entry is nil, the first
// draft begins a new run, and must fill in the run's row.
func NewSketch(ctx context.Context, store *timeline.Store, entry *snapshot.Entry, drafts ...snapshot.Draft) (*Sketch, error) {
	s := &Sketch{store: store, batch: store.Objects().Begin()}
	if entry != nil {
		if err := s.adopt(entry); err != nil {
			return nil, err
		}
	}
	for _, draft := range drafts {
		if err := s.Append(ctx, draft); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// adopt makes entry the tip of the sketch.
func (s *Sketch) adopt(entry *snapshot.Entry) (err error) {
	s.entry = entry
	if s.row, err = entry.RunRow(); err == nil {
		s.state, err = entry.State()
	}
	return timeline.Explain(err)
}

// Append implements Recorder.
func (s *Sketch) Append(_ context.Context, d snapshot.Draft) error {
	d.Limits = s.store.Settings().Limits
	next, err := snapshot.Append(s.batch, s.store.FrameCache(), s.entry, d)
	if err != nil {
		return timeline.Explain(err)
	}
	return s.adopt(next)
}

// Update implements Recorder.
func (s *Sketch) Update(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	d, err := build()
	if err != nil || d == nil {
		return err
	}
	return s.Append(ctx, *d)
}

// Refresh implements Recorder. It does nothing: nobody else appends to a sketch.
func (s *Sketch) Refresh(context.Context) error { return nil }

// Entry implements Recorder.
func (s *Sketch) Entry() *snapshot.Entry { return s.entry }

// Row implements Recorder.
func (s *Sketch) Row() snapshot.Run { return s.row }

// State implements Recorder.
func (s *Sketch) State() *snapshot.State { return s.state }

// Reveal implements Recorder.
func (s *Sketch) Reveal(at snapshot.Place, text []byte) ([]byte, error) {
	whole, err := s.store.Secrets(s.row).Reveal(at, text)
	return whole, timeline.Explain(err)
}

// Stored implements Recorder: a sketch takes no secrets out.
func (s *Sketch) Stored(c snapshot.Change) (snapshot.Change, error) { return c, nil }
