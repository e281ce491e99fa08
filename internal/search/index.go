package search

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Index is the index of the texts of a store. It is safe for concurrent use, also by several processes.
type Index struct {
	store *timeline.Store
	file  *sqliteindex.File
}

// Open opens the index of a store, and makes an empty one if there is none that can be used. The caller closes it.
func Open(ctx context.Context, store *timeline.Store) (*Index, error) {
	file, err := sqliteindex.OpenFile(ctx, fileOf(store))
	return &Index{store, file}, timeline.Explain(err)
}

// Close closes the index.
func (x *Index) Close() error { return timeline.Explain(x.file.Close()) }

// InMemory returns why the index could not be written to its file, or nil.
func (x *Index) InMemory() error { return x.file.InMemory() }

// Remove deletes the index of a store, so that no word of a run that is gone stays in it. The next search makes a new one.
func Remove(ctx context.Context, store *timeline.Store) error {
	return timeline.Explain(sqliteindex.RemoveFile(ctx, path(store)))
}

// path returns the path of the index of a store.
func path(store *timeline.Store) string { return filepath.Join(store.Private(), FileName) }

var (
	// errOvertaken means that another process has indexed the run meanwhile.
	errOvertaken = errors.New("the search index was changed by another process")
	// errGone means that the index has texts of entries that no run has any more.
	errGone = errors.New("the search index has a run that is gone")
)

// maxRounds is how often a Sync begins again because another process was faster, or because the file was made anew.
const maxRounds = 16

// Sync reads the entries that the index has not. If ctx ends, the entries that were read stay in the index. It returns why runs are left out that
// cannot be read. progress is called with the number of entries that were read and of those that are known to be there; it may be nil.
func (x *Index) Sync(ctx context.Context, progress func(done, total int)) (problems []error, err error) {
	for range maxRounds {
		// The file comes before the tips: if a run is pruned after the tips were read, its words go into a file that is deleted.
		if err := x.file.Follow(ctx); err != nil {
			return nil, timeline.Explain(err)
		}
		round := syncRound{Index: x, progress: progress, present: make(map[string]bool)}
		err = round.run(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return round.problems, timeline.Explain(err)
		case errors.Is(err, errOvertaken):
		case errors.Is(err, errGone):
			if err := x.file.Empty(ctx); err != nil {
				return nil, timeline.Explain(err)
			}
		default:
			if healed, failed := x.file.Heal(ctx, err); !healed || failed != nil {
				return nil, timeline.Explain(cmp.Or(failed, err))
			}
		}
	}
	return nil, timeline.Explain(err)
}

// syncRound is one attempt of a Sync.
type syncRound struct {
	*Index

	progress    func(done, total int)
	done, total int             // entries
	present     map[string]bool // the runs that have tips, by ref component
	began       objstore.ID     // a tree whose files are all in the index; zero for none
	problems    []error
}

// pending is a run with entries that the index has not.
type pending struct {
	ref     string
	head    *snapshot.Entry
	indexed objstore.ID // the newest entry in the index; zero for none
}

// run brings the index up to date.
func (s *syncRound) run(ctx context.Context) error {
	indexed, err := s.tips(ctx)
	if err != nil {
		return err
	}
	s.began = indexed[""]
	delete(indexed, "")
	tips, err := s.store.Refs().Tips(ctx)
	broken := errors.Is(err, refs.ErrBroken)
	if err != nil && !broken {
		return err
	}
	var changed []pending
	for _, t := range tips {
		s.present[t.Component] = true
		if indexed[t.Component] == t.ID {
			continue
		}
		head, err := snapshot.ReadEntry(s.store.Objects(), t.ID)
		if err == nil {
			changed = append(changed, pending{t.Component, head, indexed[t.Component]})
		} else if err := s.leaveOut(t.Component, t.ID, err); err != nil {
			return err
		}
	}
	if broken { // other commands tell of broken refs, and which runs are gone is unknown
		s.problems = append(s.problems, err)
	}
	for ref := range indexed {
		if !s.present[ref] && !broken {
			return errGone
		}
	}
	// Texts of the newest runs get the highest numbers, by which they are found first.
	slices.SortStableFunc(changed, func(a, b pending) int { return cmp.Compare(a.head.AtMs, b.head.AtMs) })
	for _, p := range changed {
		if err := s.leaveOut(p.ref, p.head.ID, s.addRun(ctx, p)); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut notes a problem if err means that a run cannot be read, and returns any other error.
func (s *syncRound) leaveOut(ref string, tip objstore.ID, err error) error {
	if !isAbsent(err) && !errors.Is(err, snapshot.ErrNewerFormat) && !errors.Is(err, snapshot.ErrInvalid) {
		return err
	}
	s.problems = append(s.problems, &sqliteindex.RunError{Ref: ref, Tip: tip, Err: err})
	return nil
}

// tips returns the newest indexed entry of each run and, under the name "", the tree s.began.
func (s *syncRound) tips(ctx context.Context) (map[string]objstore.ID, error) {
	type tip struct {
		Ref string
		Tip []byte
	}
	rows, err := sqliteindex.Rows[tip](ctx, s.file, "SELECT ref, tip FROM runs")
	tips := make(map[string]objstore.ID)
	for _, t := range rows {
		tips[t.Ref], _ = objstore.IDFromBytes(t.Tip) // a run without an entry has no id
	}
	return tips, err
}

// addRun indexes the entries of a run that the index has not, oldest first.
func (s *syncRound) addRun(ctx context.Context, p pending) error {
	row, err := p.head.RunRow()
	if err != nil {
		return err
	}
	if component, err := refs.EscapeRun(row.ID); err != nil || component != p.ref {
		return &objstore.CorruptError{ID: p.head.ID, Reason: "belongs to another run than its ref"}
	}
	entries, before, forked, err := s.newEntries(ctx, p)
	if err != nil {
		return err
	}
	s.total += len(entries)
	b := &batch{Index: s.Index, began: s.began, ref: p.ref, run: row.ID, tip: p.indexed, speaks: dialect.For(row.Workflow)}
	if forked && !s.hasRun(before.Run) && (row.Parent == nil || !s.hasRun(row.Parent.RunID)) { // nobody else has what the fork began with
		if err := b.entry(ctx, nil, before, 0); err != nil {
			return err
		}
	}
	for i, e := range entries {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), b.write(context.WithoutCancel(ctx), b.next))
		}
		err := b.entry(ctx, before, e, max(e.Newest, 0))
		if b.next = e.ID; err == nil && b.entries >= batchEntries {
			err = b.write(ctx, b.next)
		}
		if err != nil {
			return err
		}
		before, entries[i] = e, nil // an entry keeps what was read of it
		if s.done++; s.progress != nil {
			s.progress(s.done, s.total)
		}
	}
	err = b.write(ctx, b.next)
	if err == nil {
		s.began = b.began
	}
	return err
}

// hasRun reports whether a run has a tip.
func (s *syncRound) hasRun(run string) bool {
	component, err := refs.EscapeRun(run)
	return err == nil && s.present[component]
}

// newEntries returns the entries of a run after the indexed one, oldest first, and the entry before them, or nil. forked means that this is the entry of
// another run from which the run was forked. If the run has the indexed entry no more, the error is errGone.
func (s *syncRound) newEntries(ctx context.Context, p pending) (entries []*snapshot.Entry, before *snapshot.Entry, forked bool, err error) {
	walk := snapshot.NewWalk(s.store.Objects(), p.head)
	for {
		e, err := walk.Next()
		switch {
		case err == nil && ctx.Err() != nil:
			return nil, nil, false, context.Cause(ctx)
		case err == nil && e == nil && !p.indexed.IsZero():
			return nil, nil, false, errGone
		case err != nil:
			return nil, nil, false, err
		case e != nil && e.ID != p.indexed:
			entries = append(entries, e)
			continue
		}
		slices.Reverse(entries)
		return entries, cmp.Or(e, walk.Forked()), e == nil && walk.Forked() != nil, nil
	}
}
