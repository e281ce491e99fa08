// Package compare finds the differences between the states and the files of two frames, and runs git to show them.
package compare

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/files"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Sides has the two entries that a diff compares. From is nil if To is a run's first frame.
type Sides struct{ From, To *timeline.LoadedEntry }

// Load loads the frames From and To at two addresses. If addresses has only one address, To is the frame at this
// address, and From is the frame before it. From is then nil if To is the first frame. addresses must not be empty.
func Load(ctx context.Context, store *timeline.Store, addresses []string) (two Sides, err error) {
	if two.To, err = store.Load(ctx, addresses[len(addresses)-1]); err != nil {
		return two, err
	}
	if len(addresses) > 1 {
		two.From, err = store.Load(ctx, addresses[0])
	} else {
		two.From, err = files.Before(ctx, store, two.To)
	}
	return two, err
}

// FromAddress returns the address of From, or nil if From is nil.
func (c Sides) FromAddress() *string {
	if c.From == nil {
		return nil
	}
	return new(AddressOf(c.From))
}

// CountFiles returns, for each working copy, the numbers of files and lines that differ. It returns nil if From is nil.
func (c Sides) CountFiles(ctx context.Context, store *timeline.Store) ([]files.FileChanges, error) {
	if c.From == nil {
		return nil, nil
	}
	return files.CompareFiles(ctx, store, c.From.Entry, c.To.Entry)
}

// AddressOf returns the address of the entry in at: the run and the frame. An entry without a frame number comes after
// the newest frame of the run; its address is only the run.
func AddressOf(at *timeline.LoadedEntry) string {
	if at.Entry.Frame == snapshot.NoFrame {
		return at.Address.Run
	}
	return at.Address.String()
}

// States compares the states of From and To. If From is nil, it compares To with an empty state.
func (c Sides) States() (*diff.Result, error) {
	from := diff.Snapshot{State: snapshot.EmptyState()}
	if c.From != nil {
		var err error
		if from, err = sideOf(c.From.Entry); err != nil {
			return nil, err
		}
	}
	to, err := sideOf(c.To.Entry)
	if err != nil {
		return nil, err
	}
	return diff.Snapshots(from, to)
}

// sideOf returns the state and the revision of an entry as a diff.Snapshot.
func sideOf(entry *snapshot.Entry) (diff.Snapshot, error) {
	state, err := entry.State()
	if err != nil {
		return diff.Snapshot{}, err
	}
	vcs, err := entry.VCSRevision()
	return diff.Snapshot{State: state, VCS: vcs}, err
}
