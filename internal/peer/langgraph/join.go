package langgraph

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Join puts what this repository has added to a thread onto what a remote has added, if both have only puts and writes:
// the thread then has the checkpoints of both sides, with their ids. It returns nil if the run is not such a thread. Code:
// conflict if the local tip has moved.
func (t *Threads) Join(ctx context.Context, what share.Diverged) (*snapshot.Entry, error) {
	ours, err := t.added(what, what.Local)
	if err != nil || ours == nil {
		return nil, timeline.Explain(err)
	}
	theirs, err := t.added(what, what.Remote)
	if err != nil || theirs == nil {
		return nil, timeline.Explain(err)
	}
	head, err := t.store.Head(ctx, what.Run)
	if err != nil {
		return nil, err
	}
	if head.Entry().ID != what.Local.ID {
		return nil, conflictOn(what.Run)
	}
	series, err := timeline.SeriesOnto(ctx, head, what.Remote)
	if err != nil {
		return nil, err
	}
	series.StayOpen()
	defer series.Close()
	j := joiner{threads: t, series: series, ours: newBook(what.Run, t.read), both: newBook(what.Run, t.read), newest: what.Remote.Newest}
	err = j.ours.advance(ctx, what.Local.ID)
	if err == nil {
		err = j.both.advance(ctx, what.Remote.ID)
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for _, entry := range ours {
		if err := j.take(ctx, entry); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	joined, err := series.Commit(ctx)
	if err != nil {
		return nil, err
	}
	return joined.Entry(), nil
}

// IsThread reports whether the run with a tip is a thread, which its application finds by the id.
func IsThread(tip *snapshot.Entry) bool {
	row, err := tip.RunRow()
	ids, extErr := tip.ExtFileIDs(EngineName)
	return err == nil && extErr == nil && row.Workflow == EngineName && len(ids) > 0
}

// added returns the entries after the common one up to tip, oldest first, or nil if one of them is neither a put nor writes.
func (t *Threads) added(what share.Diverged, tip *snapshot.Entry) ([]*snapshot.Entry, error) {
	entries, err := what.Since(t.store, tip)
	if err != nil || entries == nil {
		return nil, err
	}
	had, err := filesOf(entries[0])
	if err != nil {
		return nil, err
	}
	for _, entry := range entries[1:] {
		now, err := filesOf(entry)
		if err != nil {
			return nil, err
		}
		if now.checkpoint == had.checkpoint && (now.writes == had.writes || entry.Frame != snapshot.NoFrame) {
			return nil, nil
		}
		had = now
	}
	return entries[1:], nil
}

// joiner appends the entries of one side to those of the other.
type joiner struct {
	threads *Threads
	series  *timeline.Series
	ours    *book // the local thread
	both    *book // the joined thread, as far as it is built
	newest  int64 // the number of its newest frame
}

// take appends what a local entry adds: its checkpoint and its writes.
func (j *joiner) take(ctx context.Context, entry *snapshot.Entry) error {
	for _, r := range j.ours.sorted {
		if r.commit == entry.ID {
			if err := j.takePut(ctx, entry, r); err != nil {
				return err
			}
		}
	}
	var missing []pending
	for key := range j.ours.writes {
		if j.ours.writesEntry(key, j.ours.history.now.time) != entry.ID {
			continue
		}
		local, err := j.ours.pending(key)
		if err != nil {
			return err
		}
		all, err := j.both.pending(key) // the newest local entry about the checkpoint has all its local writes
		if err != nil {
			return err
		}
		if all.add(local.Writes) {
			missing = append(missing, all)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.SortFunc(missing, func(a, b pending) int {
		return compareRecords(&record{NS: a.NS, ID: a.ID}, &record{NS: b.NS, ID: b.ID})
	})
	row, err := entry.RunRow()
	if err != nil {
		return err
	}
	_, err = j.series.Append(ctx, snapshot.Draft{
		AtMs: entry.AtMs, Subject: entry.Subject, Limits: formatLimits, Run: j.status(row),
		Ext: &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{writesFile: encodeWrites(missing)}},
	})
	return err
}

// takePut appends the frame of a local checkpoint, with the state and the files that it has.
func (j *joiner) takePut(ctx context.Context, entry *snapshot.Entry, r *record) error {
	again := *r
	again.N = j.both.puts + 1
	draft, err := repeat(entry, &again, j.both.base(&again), j.newest+1)
	if err != nil {
		return err
	}
	row, err := entry.RunRow()
	if err != nil {
		return err
	}
	draft.Run = j.status(row)
	next, err := j.series.Append(ctx, *draft)
	if err != nil {
		return err
	}
	again.commit, again.frame = r.commit, next.Frame // the state is that of the local frame
	j.both.put(&again)
	j.newest = next.Frame
	return nil
}

// status returns the edit that gives the run the status of its row in a local entry, if the local thread has the latest
// checkpoint of all.
func (j *joiner) status(row snapshot.Run) func(*snapshot.Run) {
	local, all := j.ours.latest(""), j.both.latest("")
	if local == nil || all != nil && all.ID > local.ID {
		return nil
	}
	return func(joined *snapshot.Run) {
		joined.Status, joined.Error, joined.FinishedAtMs = row.Status, row.Error, row.FinishedAtMs
	}
}

// repeat returns the draft of a frame that has the checkpoint of another frame again, with its state and files. again is
// the new record, base the checkpoint that it goes on from, and frame the number of the new frame.
func repeat(entry *snapshot.Entry, again, base *record, frame int64) (*snapshot.Draft, error) {
	draft, err := entry.Repeat()
	if err != nil {
		return nil, err
	}
	draft.Frame.Silent, draft.Limits = true, formatLimits
	draft.Ext = &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{checkpointFile: again.encode()}}
	switch {
	case frame == 0:
	case base == nil || base.frame == snapshot.NoFrame:
		none := snapshot.NoFrame
		draft.Frame.Based = &none
	case base.frame != frame-1:
		draft.Frame.Based = &base.frame
	}
	return draft, nil
}

// conflictOn returns the error that another process has moved a run's tip.
func conflictOn(run string) error {
	return fault.New(fault.Conflict, "run %q was continued meanwhile", run)
}
