package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Entries checks the entries of a run from tip back to the entry with the id oldID. This entry is known to be
// valid and is not checked. If oldID is zero, all entries are checked. Entries makes the checks of [Runs], without
// the checks of refs and, if git has checked them during a fetch, of the bytes of captured files. It also
// checks the frame from which the run was forked. If met is not nil, Entries calls it for each entry.
//
// Entries stops at the first invalid entry, so it returns at most one problem. The error is not nil only if ctx
// has ended; the check is then incomplete.
func Entries(ctx context.Context, s *timeline.Store, run string, tip, oldID objstore.ID, met func(*snapshot.Entry)) ([]Problem, error) {
	return NewEntryVerifier(s).Verify(ctx, run, tip, oldID, met)
}

// EntryVerifier checks entries of several runs as [Entries] does. It reads captured trees that several runs share only
// once. Only one goroutine at a time may use an EntryVerifier.
type EntryVerifier struct {
	store *timeline.Store
	files *fileVerifier
}

// NewEntryVerifier returns an EntryVerifier for s that has read nothing yet. It reads the trees of captured files, and
// the files only if the repository may have objects that came without git's checks.
func NewEntryVerifier(s *timeline.Store) *EntryVerifier {
	files := newFileVerifier(s.Objects())
	files.onlyTrees = !sharesObjects(filepath.Join(s.Repo().CommonDir, "objects"))
	return &EntryVerifier{s, files}
}

// sharesObjects reports whether a folder of objects borrows from another, or shares files with one by hard links, as a
// local clone does. Git fetches no object that is already there, and so does not check its bytes.
func sharesObjects(dir string) bool {
	if lenders, err := objstore.Alternates(dir); err != nil || len(lenders) > 0 {
		return true
	}
	shared := errors.New("shared")
	return errors.Is(filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read fails where it is needed
		}
		if info, err := entry.Info(); err == nil && fsx.Links(info) > 1 {
			return shared
		}
		return nil
	}), shared)
}

// Verify checks the entries of one run from tip back to the entry oldID, as [Entries] does. It skips captured
// trees that an earlier call has checked. If tip is unreadable or belongs to another run, this is the only
// problem.
func (e *EntryVerifier) Verify(ctx context.Context, run string, tip, oldID objstore.ID, met func(*snapshot.Entry)) ([]Problem, error) {
	if met == nil {
		met = func(*snapshot.Entry) {}
	}
	s := e.store
	v := newVerifier(s)
	v.files = e.files
	entry, err := snapshot.ReadEntry(s.Objects(), tip)
	switch {
	case err != nil:
		v.note(run, nil, fmt.Errorf("tip %v: %w", tip, err))
	case entry.Run != run:
		v.note(run, entry, fmt.Errorf("%w: the entry belongs to run %q", objstore.ErrCorrupt, entry.Run))
	default:
		v.fetched(ctx, entry, oldID, met)
	}
	return v.report.Problems, timeline.Explain(ctx.Err())
}

// fetched checks the entries from tip back to the entry oldID, and calls met for each entry. It adds the first problem
// to the report and stops there. If oldID is zero, it checks all entries and the frame from which the run was forked.
// If the chain does not have the entry oldID, this is a problem.
func (v *verifier) fetched(ctx context.Context, tip *snapshot.Entry, oldID objstore.ID, met func(*snapshot.Entry)) {
	run, ops := tip.Run, newOpsVerifier()
	var newer *link
	walk, stop := v.ahead(tip)
	defer stop()
	for entry, err := range walk.Entries() {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			v.note(run, nil, err)
			return
		}
		met(entry)
		ops.met(entry.ID)
		at, err := v.link(ctx, entry, oldID)
		if err == nil && newer != nil {
			err = v.follows(at, newer, ops)
			// The error of follows is about newer.
			entry = newer.entry
		}
		if err != nil {
			v.note(run, entry, err)
			return
		}
		newer = at
		if at.entry.ID == oldID { // oldID and all entries before it are known to be valid
			v.fetchedTip(ctx, tip, ops, v.goOnKnown(ctx, tip, at.entry, ops))
			return
		}
	}
	if !oldID.IsZero() {
		v.note(run, tip, fmt.Errorf("%w: the run does not continue the known entry %v", objstore.ErrCorrupt, oldID))
		return
	}
	err := v.begins(newer, ops)
	if err == nil {
		err = v.forkedFrom(ctx, newer)
	}
	v.fetchedTip(ctx, tip, ops, err)
}

// link checks entry without the entries before it, and returns it with its row. If entry has the id oldID,
// link only reads the row, because the entry is known to be valid.
func (v *verifier) link(ctx context.Context, entry *snapshot.Entry, oldID objstore.ID) (*link, error) {
	if entry.ID == oldID {
		row, err := entry.Stored().RunRow()
		return &link{entry, row}, err
	}
	row, err := v.entry(ctx, entry)
	return &link{entry, row}, err
}

// fetchedTip makes the checks that apply only to the tip, and adds their problems to the report as one problem. If err
// is not nil, fetchedTip adds err instead, and makes no check.
func (v *verifier) fetchedTip(ctx context.Context, tip *snapshot.Entry, ops *opsVerifier, err error) {
	if err == nil {
		err = errors.Join(v.files.attempts(ctx, tip), ops.check(tip))
	}
	if err != nil {
		v.note(tip.Run, tip, err)
	}
}

// goOnKnown records in ops the entries before oldEntry, an entry that is known to be valid. Each op that the fetched
// entries added names the entry before the op. ops can check this op only if the named entry is recorded.
// goOnKnown stops as soon as all named entries are recorded.
func (v *verifier) goOnKnown(ctx context.Context, tip, oldEntry *snapshot.Entry, ops *opsVerifier) error {
	list, err := timeline.OpsAt(tip)
	if err != nil {
		return err
	}
	missing := make(map[objstore.ID]bool)
	for _, op := range list {
		_, isNew := ops.made[op.Number]
		if _, met := ops.place[op.Before]; isNew && !met && !op.Before.IsZero() {
			missing[op.Before] = true
		}
	}
	for entry, err := range v.store.Chain(oldEntry) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		if entry.ID != oldEntry.ID {
			ops.met(entry.ID)
			delete(missing, entry.ID)
		}
	}
	return nil
}

// forkedFrom checks the frame from which a run was forked, and checks that first, the run's first own entry,
// follows this frame. It returns nil if the run is not a fork.
func (v *verifier) forkedFrom(ctx context.Context, first *link) error {
	seen, err := first.entry.RunRow()
	if err != nil || seen.Parent == nil {
		return err
	}
	parent := seen.Parent
	if first.entry.Parent != parent.Commit {
		return fmt.Errorf("%w: the run was forked from %v, but continues %v", objstore.ErrCorrupt, parent.Commit, first.entry.Parent)
	}
	from, err := snapshot.ReadEntry(v.store.Objects(), parent.Commit)
	if err == nil {
		_, err = v.entry(ctx, from)
	}
	if err != nil {
		return fmt.Errorf("the frame that the run was forked from: %w", err)
	}
	return nil
}
