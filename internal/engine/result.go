package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/snapshot"
)

// result is the result of an attempt that the cache may keep.
type result struct {
	lookup  *lookup
	attempt snapshot.Attempt
	table   string
	schema  json.RawMessage // of the output; nil without one
	output  json.RawMessage
}

// noteLookup records in r.next whether an attempt took its result from the cache and, if it ran and finished, the result to store. a is
// the attempt as it began.
func (r *runner) noteLookup(out outcome, a snapshot.Attempt) {
	l := out.job.lookup
	if l == nil {
		return
	}
	p := payload{NodeID: a.NodeID, Iteration: &a.Iteration, Attempt: a.Attempt, Key: l.key}
	if l.hit != nil {
		p.From = l.hit.From().String()
		r.next.event("CacheHit", p)
		return
	}
	if l.miss == "" {
		return // the attempt ended before it looked for a result
	}
	p.Reason = l.miss
	r.next.event("CacheMiss", p)
	if out.failed != nil || l.unfit {
		return
	}
	now := r.opts.Now().UnixMilli()
	a.FinishedAtMs = &now
	kept := result{lookup: l, attempt: a, output: out.output, table: out.job.task.Output}
	if out.job.schema != nil {
		kept.schema = out.job.schema.Text
	}
	r.next.results = append(r.next.results, kept)
}

// keepResults stores results of attempts in the cache, after the frame that has them. A result that cannot be stored is a warning.
func (r *runner) keepResults(ctx context.Context, results []result) {
	for _, kept := range results {
		whole, err := r.hasWhole(kept)
		if err == nil && !whole {
			continue // the entry would leave the vault
		}
		after, read := r.read[kept.attempt.Worktree]
		if err == nil {
			err = r.keepResult(ctx, kept, kept.lookup, after, read)
		}
		if first := kept.lookup.firstTry(); err == nil && first != nil && first.files != nil {
			err = r.keepResult(ctx, kept, first, after, read)
		}
		if err != nil {
			r.opts.Warn(fmt.Errorf("task %s: its result is not in the cache: %w", kept.attempt.NodeID, err))
		}
	}
}

// hasWhole reports whether the state has a result as the task wrote it. The append has searched the result for secrets, and put a placeholder in
// place of each.
func (r *runner) hasWhole(kept result) (bool, error) {
	if kept.table == "" {
		return true, nil
	}
	value, _, err := r.rec.State().Outputs(kept.table).Get(snapshot.Key(kept.attempt.NodeID, kept.attempt.Iteration))
	return bytes.Equal(value, kept.output), err
}

// keepResult stores a result under the key of l: the lookup of the attempt, or that of the first try of its task.
func (r *runner) keepResult(ctx context.Context, kept result, l *lookup, after snapshot.VCS, read bool) error {
	e, err := kept.entry(ctx, l, r.tip.runID, r.rec.Row().Frame, after, read)
	if err != nil || e == nil {
		return err
	}
	return r.opts.Cache.Put(ctx, e)
}

// entry returns the entry for a result under the key of l, or nil if the cache must not have it: the changes of files since l began are not
// known, or another attempt may have made them. frame is the frame of the run that has the result. after has the files of that frame if read is
// true.
func (kept result) entry(ctx context.Context, l *lookup, run string, frame int64, after snapshot.VCS, read bool) (*cache.Entry, error) {
	a := kept.attempt
	e := &cache.Entry{
		Key: l.key, Run: run, Frame: frame, Iteration: a.Iteration, Attempt: a.Attempt,
		CreatedAtMs: *a.FinishedAtMs, TookMs: max(*a.FinishedAtMs-a.StartedAtMs, 0),
		Table: kept.table, Output: kept.output, Bytes: int64(len(kept.output)),
	}
	if kept.schema != nil {
		e.SchemaSig = columns.Signature(kept.table, kept.schema)
	}
	if l.files == nil || l.files.Tree.IsZero() {
		return e, nil // there are no captures; the author wrote files: none
	}
	switch {
	case !read || after.Tree.IsZero() || !slices.Equal(after.LeftOut, l.files.LeftOut) || after.LeftOutMore != l.files.LeftOutMore:
		return nil, nil //nolint:nilnil // the changes are not known
	case after.Tree == l.files.Tree:
	case !l.alone:
		return nil, nil //nolint:nilnil // the changes may be those of another attempt
	case len(after.With) > 0:
		return nil, fmt.Errorf("others were at work in the same folder: %s", strings.Join(after.With, ", "))
	default:
		files, size, err := l.cache.Changes(ctx, l.files.Tree, after.Tree)
		if err != nil {
			return nil, err
		}
		e.Files, e.Bytes = files, e.Bytes+size
	}
	if l.policy.NoFiles || l.policy.Paths != nil {
		found, err := l.cache.KeepFiles(ctx, e, after.Tree)
		if err != nil || !found && a.Attempt > 1 && l == kept.lookup {
			return nil, err // an attempt that failed or was interrupted may have made some of the task's files
		}
	}
	return e, nil
}
