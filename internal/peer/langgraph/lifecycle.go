package langgraph

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Delete deletes a thread, as `git smithers prune` prunes a run: `prune --undo` brings it back until it is collected. If
// there is no such thread, Delete does nothing.
func (t *Threads) Delete(ctx context.Context, id string) error {
	return t.use(ctx, id, func(th *thread) error {
		for try := 1; ; try++ {
			err := prune.New(t.store, prune.Options{}).ForgetOne(ctx, id)
			if fault.CodeOf(err) == fault.Conflict && err != nil { // another process puts
				if err := timeline.Pause(ctx, try); err != nil {
					return timeline.Explain(err)
				}
				continue
			}
			if err != nil {
				return err
			}
			return th.refresh(ctx)
		}
	})
}

// Copy makes the thread to a fork of the thread from: at a checkpoint of the graph itself or, if at is "", at the newest
// frame. The copy has all checkpoints up to there, and their writes. Codes: run_not_found; frame_not_found if there is no
// such checkpoint; run_exists if there is a thread to. A fork by a command lacks the writes of its checkpoint; see runAgain.
func (t *Threads) Copy(ctx context.Context, from, to, at string) error {
	head, err := t.store.Head(ctx, from)
	if err != nil {
		return err
	}
	address := timeline.Address{Run: from, Frame: head.Row().Frame}.String()
	if at != "" {
		address = from + "@" + at
	}
	if _, err := t.store.Fork(ctx, timeline.ForkRequest{From: address, RunID: to, PeerID: true}); err != nil {
		return err
	}
	writes := make(map[Key]pending)
	counted := make(map[Key]bool)
	err = t.use(ctx, from, func(th *thread) error {
		for _, r := range th.book.sorted {
			counted[r.key()] = at == "" && th.book.history.counts(r)
		}
		for key := range th.book.writes {
			p, err := th.book.pending(key)
			if err != nil {
				return timeline.Explain(err)
			}
			writes[key] = p
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.use(ctx, to, func(th *thread) error {
		for _, r := range slices.Clone(th.book.sorted) {
			if counted[r.key()] && !th.book.history.counts(r) {
				if err := th.putAgain(ctx, r); err != nil {
					return err
				}
			}
		}
		return th.addMissing(ctx, writes)
	})
}

// putAgain appends a frame that has the checkpoint of another frame again. The checkpoint counts again if it did not.
func (th *thread) putAgain(ctx context.Context, r *record) error {
	_, err := th.update(ctx, func() (*snapshot.Draft, error) {
		entry, err := th.read(r.commit)
		if err != nil {
			return nil, err
		}
		again := *r
		again.N = th.book.puts + 1
		return repeat(entry, &again, th.book.base(&again), th.head.Row().Frame+1)
	})
	return err
}

// addMissing appends the writes that the thread lacks of checkpoints that it has: those that came after the frame at which
// the thread was forked.
func (th *thread) addMissing(ctx context.Context, writes map[Key]pending) error {
	_, err := th.update(ctx, func() (*snapshot.Draft, error) {
		var missing []pending
		for _, r := range th.book.sorted {
			p, found := writes[r.key()]
			if !found {
				continue
			}
			had, err := th.book.pending(r.key())
			if err != nil {
				return nil, err
			}
			if had.add(p.Writes) {
				missing = append(missing, had)
			}
		}
		if len(missing) == 0 {
			return nil, nil //nolint:nilnil // nothing is missing
		}
		file, err := th.writesFile(missing)
		if err != nil {
			return nil, err
		}
		draft := &snapshot.Draft{
			AtMs: th.threads.store.Now().UnixMilli(), Subject: "writes of the thread that was copied",
			Ext: &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{writesFile: file}},
		}
		return draft, th.mailOfCopy(draft, missing)
	})
	return err
}

// KeepLatest drops all checkpoints of a thread but the latest one of each namespace, and the ancestors that its
// DeltaChannels need. The thread gets a new history; the old one stays held until `prune --collect`. If there is no such
// thread, KeepLatest does nothing.
func (t *Threads) KeepLatest(ctx context.Context, id string) error {
	return t.use(ctx, id, func(th *thread) error {
		return th.keepOnly(ctx, func() (map[*record]bool, error) { return th.latestAndNeeded() })
	})
}

// DeleteForRuns drops the checkpoints whose metadata have one of the run ids, from all threads, and returns their number. A thread
// that has no checkpoint left is deleted.
func (t *Threads) DeleteForRuns(ctx context.Context, runs []string) (dropped int, err error) {
	threads, err := t.All(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range threads {
		empty, gone := false, 0
		err := t.use(ctx, id, func(th *thread) error {
			return th.keepOnly(ctx, func() (map[*record]bool, error) {
				var kept map[*record]bool
				kept, empty = th.without(runs)
				gone = len(th.book.sorted) - len(kept)
				return kept, nil
			})
		})
		if err == nil && empty {
			err = t.Delete(ctx, id)
		}
		if err != nil {
			return dropped, err
		}
		dropped += gone
	}
	return dropped, nil
}

// without returns the checkpoints that remain without those of the given runs of LangGraph. empty reports whether no checkpoint
// remains. If a checkpoint goes, so do the checkpoints that a reset left out, because the new history does not have the reset.
func (th *thread) without(runs []string) (kept map[*record]bool, empty bool) {
	kept = make(map[*record]bool)
	for _, r := range th.book.sorted {
		if r.meta.RunID == "" || !slices.Contains(runs, r.meta.RunID) {
			kept[r] = true
		}
	}
	if len(kept) == len(th.book.sorted) {
		return kept, false
	}
	maps.DeleteFunc(kept, func(r *record, _ bool) bool { return !th.book.history.counts(r) })
	return kept, len(kept) == 0
}

// latestAndNeeded returns the latest checkpoint of each namespace, with the ancestors whose writes make the values of its
// DeltaChannels.
func (th *thread) latestAndNeeded() (map[*record]bool, error) {
	latest := make(map[string]*record)
	for _, r := range th.book.sorted {
		if th.book.history.counts(r) {
			latest[r.NS] = r
		}
	}
	kept := make(map[*record]bool)
	for _, r := range latest {
		kept[r] = true
		left := r.deltaChannels()
		for at := th.book.parent(r); at != nil && len(left) > 0 && !kept[at]; at = th.book.parent(at) {
			kept[at] = true
			state, err := th.state(at)
			if err != nil {
				return nil, err
			}
			rows := state.Outputs(tableOf(at.NS))
			var without []string
			for _, channel := range left {
				has, err := rows.Has(rowKey(channel))
				if err != nil {
					return nil, err
				}
				if !has {
					without = append(without, channel)
				}
			}
			left = without
		}
	}
	return kept, nil
}

// keepOnly gives the thread a new history that has only the checkpoints which choose returns. If it returns all or none, the
// thread stays as it is.
func (th *thread) keepOnly(ctx context.Context, choose func() (map[*record]bool, error)) error {
	for try := 1; th.head != nil; try++ {
		kept, err := choose()
		if err != nil {
			return timeline.Explain(err)
		}
		if len(kept) == 0 || len(kept) == len(th.book.sorted) {
			return nil
		}
		err = th.rewrite(ctx, kept)
		if code := fault.CodeOf(err); err == nil || code != fault.Conflict && code != fault.RunExists {
			return err
		}
		if err := timeline.Pause(ctx, try); err != nil {
			return timeline.Explain(err)
		}
		if err := th.refresh(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rewrite begins the thread's run anew with the given checkpoints, in the order in which they came. All become visible at once.
func (th *thread) rewrite(ctx context.Context, kept map[*record]bool) error {
	records := slices.DeleteFunc(slices.Clone(th.book.sorted), func(r *record) bool { return !kept[r] })
	slices.SortFunc(records, func(a, b *record) int { return int(a.N - b.N) })
	row := th.head.Row()
	row.Parent = nil
	series, err := timeline.ReplaceSeries(ctx, th.head, row, nil)
	if err != nil {
		return err
	}
	series.StayOpen()
	defer series.Close()
	next := newBook(th.id, th.threads.read)
	var all []pending
	for i, r := range records {
		again := *r
		again.N, again.frame = int64(i+1), int64(i)
		entry, err := th.read(r.commit)
		if err != nil {
			return timeline.Explain(err)
		}
		draft, err := repeat(entry, &again, next.base(&again), int64(i))
		if err != nil {
			return timeline.Explain(err)
		}
		if _, err := series.Append(ctx, *draft); err != nil {
			return err
		}
		next.put(&again)
		if p, err := th.book.pending(r.key()); err != nil {
			return timeline.Explain(err)
		} else if len(p.Writes) > 0 {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		draft := snapshot.Draft{
			AtMs: th.head.Entry().AtMs, Subject: "writes of the checkpoints that were kept", Limits: formatLimits,
			Ext: &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{writesFile: encodeWrites(all)}},
		}
		if _, err := series.Append(ctx, draft); err != nil {
			return err
		}
	}
	if th.head, err = series.Commit(ctx); err != nil {
		th.forget()
		return errors.Join(err, th.refresh(ctx))
	}
	return timeline.Explain(th.book.advance(ctx, th.head.Entry().ID))
}

// deltaChannels returns the DeltaChannels of a checkpoint, whose values are not in it.
func (r *record) deltaChannels() []string {
	var channels []string
	for channel := range r.meta.Delta {
		channels = append(channels, channel)
	}
	slices.Sort(channels)
	return channels
}
