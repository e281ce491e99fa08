package cron

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Table is the schedules of a store's clone. It is safe for concurrent use.
type Table struct{ ref treeref.Ref }

// Of returns the schedules of a store's clone. It reads nothing.
func Of(s *timeline.Store) *Table {
	return &Table{treeref.Ref{Store: s, Name: refs.Cron, Message: "schedules of this clone"}}
}

// All returns the schedules, sorted by their ids. It warns about a file that is no schedule.
func (t *Table) All(ctx context.Context) ([]*Schedule, error) {
	_, tree, err := t.ref.Root(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all, err := t.in(tree)
	return all, timeline.Explain(err)
}

// in returns the schedules in a tree.
func (t *Table) in(tree objstore.ID) ([]*Schedule, error) {
	store := t.ref.Store
	files, err := treeref.Entries(store.Objects(), tree)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	key, err := consent.KeyOf(store)
	if err != nil {
		return nil, err
	}
	var all []*Schedule
	for _, f := range files[:min(len(files), maxSchedules)] {
		text, err := objstore.GetBlob(store.Objects(), f.ID, maxFile)
		if err != nil {
			return nil, err
		}
		s, err := decode(text, key)
		if err == nil && treeref.FileOf(s.ID) != f.Name {
			err = fmt.Errorf("it is schedule %q", s.ID)
		}
		if err != nil {
			store.WarnOnce(fmt.Errorf("%s in %s is left out: %w", f.Name, refs.Cron, err))
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Schedule) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// Find returns the schedule with an id, or the only one whose id begins with it. Code: schedule_not_found.
func (t *Table) Find(ctx context.Context, id string) (*Schedule, error) {
	all, err := t.All(ctx)
	if err != nil {
		return nil, err
	}
	var found []*Schedule
	for _, s := range all {
		if s.ID == id {
			return s, nil
		}
		if id != "" && len(s.ID) > len(id) && s.ID[:len(id)] == id {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, notFound(id)
}

// notFound returns the error for a schedule that does not exist.
func notFound(id string) error {
	return fault.New(fault.ScheduleNotFound, "there is no schedule %s", id).Hint("`git smithers cron list` lists the schedules")
}

// Add adds a schedule and enables it. It sets s.NextAtMs. Code: invalid_schedule if the schedule cannot be or its id is taken.
func (t *Table) Add(ctx context.Context, s *Schedule) error {
	key, err := consent.OwnKey(t.ref.Store)
	if err != nil {
		return err
	}
	if err := s.enable(key, t.ref.Store.Now()); err != nil {
		return err
	}
	return t.edit(ctx, func(all map[string]*Schedule) error {
		if all[s.ID] != nil {
			return fault.New(fault.InvalidSchedule, "there is a schedule %s already", s.ID).Hint("choose another --name, or remove it with `git smithers cron remove %s`", fault.Word(s.ID))
		}
		all[s.ID] = s
		return nil
	})
}

// AddRows adds schedules that came from Smithers, disabled. A row that is here already stays as it is.
func (t *Table) AddRows(ctx context.Context, rows []*Schedule) error {
	return t.edit(ctx, func(all map[string]*Schedule) error {
		for _, s := range rows {
			if all[s.ID] == nil {
				all[s.ID] = s
			}
		}
		return nil
	})
}

// Enable lets a schedule fire in this clone, from now on. The caller has the consent of a person to run its workflow. Code:
// schedule_not_found; invalid_schedule if it cannot fire.
func (t *Table) Enable(ctx context.Context, id string) (*Schedule, error) {
	key, err := consent.OwnKey(t.ref.Store)
	if err != nil {
		return nil, err
	}
	return t.change(ctx, id, func(s *Schedule) error {
		s.Missed, s.Overlap = cmp.Or(s.Missed, MissedOnce), cmp.Or(s.Overlap, OverlapSkip)
		return s.enable(key, t.ref.Store.Now())
	})
}

// Disable stops a schedule. Code: schedule_not_found.
func (t *Table) Disable(ctx context.Context, id string) (*Schedule, error) {
	return t.change(ctx, id, func(s *Schedule) error {
		s.disable()
		return nil
	})
}

// Remove removes a schedule. Its runs stay. Code: schedule_not_found.
func (t *Table) Remove(ctx context.Context, id string) error {
	return t.edit(ctx, func(all map[string]*Schedule) error {
		if all[id] == nil {
			return notFound(id)
		}
		delete(all, id)
		return nil
	})
}

// Due is a schedule whose time has come.
type Due struct {
	*Schedule

	At     int64 // the time
	Missed bool  // nobody was there to take the time, and it is not made up for
}

// Claim takes the time of a schedule that has come: it sets when the schedule fires next. It returns nil if no time has come, or another
// process has taken it, so that each time is taken once. After a crash between Claim and the start of the run, that run is lost.
func (t *Table) Claim(ctx context.Context, id string) (due *Due, err error) {
	now := t.ref.Store.Now()
	_, err = t.change(ctx, id, func(s *Schedule) error {
		due = nil
		if !s.Fires() || s.NextAtMs == nil || *s.NextAtMs > now.UnixMilli() {
			return nil
		}
		late := now.Sub(time.UnixMilli(*s.NextAtMs))
		// A queued time is late because it waited.
		due = &Due{s, *s.NextAtMs, s.Missed == MissedSkip && s.Overlap != OverlapQueue && late > missedAfter}
		next, err := s.next(now)
		if err != nil {
			s.Enabled, s.NextAtMs = false, nil
			s.fail(err.Error(), now)
			return nil // the schedule has the reason
		}
		s.NextAtMs = &next
		return nil
	})
	if fault.CodeOf(err) == fault.ScheduleNotFound {
		return nil, nil //nolint:nilnil // it was removed meanwhile
	}
	return due, err
}

// Alone keeps other processes from a backfill of a schedule until release is called, or this process ends. Code: run_owned if another process is at it.
func (t *Table) Alone(id string) (release func(), err error) {
	folder := filepath.Join(t.ref.Store.Private(), "backfill")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, timeline.Explain(err)
	}
	lock := flock.New(filepath.Join(folder, treeref.FileOf(id)), flock.SetPermissions(0o600))
	mine, err := lock.TryLock()
	if err == nil && !mine {
		err = fault.New(fault.RunOwned, "another process backfills schedule %s, and its runs must not work side by side", id).
			Hint("wait until it ends, and backfill again: times that have a run are left out")
	}
	if err != nil {
		_ = lock.Close()
		return nil, timeline.Explain(err)
	}
	return func() { _ = lock.Close() }, nil
}

// Started records the run that a schedule starts. Failed records why a time came to nothing, or why its run failed. Both do nothing if the
// schedule was removed meanwhile.
func (t *Table) Started(ctx context.Context, id, run string) error {
	now := t.ref.Store.Now().UnixMilli()
	return t.note(ctx, id, func(s *Schedule) { s.LastAtMs, s.LastRun, s.Error, s.ErrorAtMs = &now, run, "", nil })
}

// Withdraw takes back what Started recorded of a run that was not created. before is the schedule as Claim returned it, and at the time
// that Claim took, in milliseconds since 1970. If again is true, Withdraw takes back the Claim, too, so that the schedule fires for that
// time. It does nothing if the schedule was removed or fired meanwhile.
func (t *Table) Withdraw(ctx context.Context, before *Schedule, run string, at int64, again bool) error {
	return t.note(ctx, before.ID, func(s *Schedule) {
		if s.LastRun == run {
			s.LastAtMs, s.LastRun = before.LastAtMs, before.LastRun
		}
		if again && s.Fires() && s.LastRun == before.LastRun {
			s.NextAtMs = &at
		}
	})
}

// Failed is described with Started.
func (t *Table) Failed(ctx context.Context, id, why string) error {
	return t.note(ctx, id, func(s *Schedule) { s.fail(why, t.ref.Store.Now()) })
}

// fail records why a time came to nothing.
func (s *Schedule) fail(why string, now time.Time) {
	at := now.UnixMilli()
	s.Error, s.ErrorAtMs = why, &at
}

// note changes what a schedule says of its past.
func (t *Table) note(ctx context.Context, id string, change func(*Schedule)) error {
	_, err := t.change(ctx, id, func(s *Schedule) error {
		change(s)
		return nil
	})
	if fault.CodeOf(err) == fault.ScheduleNotFound {
		return nil
	}
	return err
}

// change changes one schedule and returns it. Code: schedule_not_found.
func (t *Table) change(ctx context.Context, id string, change func(*Schedule) error) (s *Schedule, err error) {
	err = t.edit(ctx, func(all map[string]*Schedule) error {
		if s = all[id]; s == nil {
			return notFound(id)
		}
		return change(s)
	})
	return s, err
}

// edit changes the schedules, by their ids. If another process changes them first, edit calls change again.
func (t *Table) edit(ctx context.Context, change func(map[string]*Schedule) error) error {
	return timeline.Explain(t.ref.Update(ctx, func(batch *objstore.Batch, root objstore.ID) (objstore.ID, error) {
		var files []objstore.TreeEntry
		all, known := make(map[string]*Schedule), make(map[string]bool)
		list, err := t.in(root)
		if err != nil {
			return root, err
		}
		for _, s := range list {
			all[s.ID], known[treeref.FileOf(s.ID)] = s, true
		}
		had, err := treeref.Entries(batch, root)
		if err != nil {
			return root, err
		}
		if err := change(all); err != nil {
			return root, err
		}
		if len(all) > maxSchedules {
			return root, fault.New(fault.LimitExceeded, "a clone has at most %d schedules", maxSchedules)
		}
		for _, f := range had {
			if !known[f.Name] { // what this version cannot read stays
				files = append(files, f)
			}
		}
		for _, s := range all {
			text, err := s.encode()
			if err != nil {
				return root, err
			}
			files = append(files, objstore.TreeEntry{Name: treeref.FileOf(s.ID), Mode: objstore.ModeFile, ID: batch.Add(objstore.Blob, text)})
		}
		if len(files) == 0 && len(had) == 0 {
			return root, nil
		}
		return batch.Add(objstore.Tree, objstore.EncodeTree(files)), nil
	}))
}

// unmarshal decodes JSON and keeps the digits of numbers.
func unmarshal(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}
