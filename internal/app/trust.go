package app

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// TrustResults puts the results of a run into the cache of this clone, so that equal tasks take them, as if the run had worked here. It returns how many
// there are. The keys are those in the run's events, and the outputs and files those in its history: whoever wrote the run chose them. Results that the
// clone of the run did not keep either are left out: see engine's keepResults.
func (d *Desk) TrustResults(ctx context.Context, run string) (added int, err error) {
	head, err := d.Store.Head(ctx, run)
	if err != nil {
		return 0, err
	}
	t := &trust{head: head, store: d.Store, cache: cache.Of(d.Store), ends: make(map[string]*endOfLookup)}
	if err := t.readAttempts(); err != nil {
		return 0, timeline.Explain(err)
	}
	for entry, err := range d.Store.Chain(head.Entry()) { // the newest first
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return added, err
		}
		n, err := t.read(ctx, entry)
		if added += n; err != nil {
			return added, timeline.Explain(err)
		}
	}
	return added, nil
}

// trust reads the results of a run, from the newest entry to the oldest.
type trust struct {
	head     *timeline.Head
	store    *timeline.Store
	cache    *cache.Cache
	attempts []snapshot.Attempt
	ends     map[string]*endOfLookup // the results whose start is not read yet, by the keys of the attempts
}

// endOfLookup is an attempt that looked for a result in vain and ran.
type endOfLookup struct {
	key   cache.Key
	entry *snapshot.Entry // that has the end of the attempt
	// crowded means that another attempt began or ended meanwhile.
	crowded bool
}

// attemptEvent is the payload of an event of an attempt, as far as trust needs it.
type attemptEvent struct {
	NodeID    string    `json:"nodeId"`
	Iteration int       `json:"iteration"`
	Attempt   int       `json:"attempt"`
	Key       cache.Key `json:"key"`

	kind string // the type of the event
	name string // the key of the attempt
}

// eventsOf returns the events of an entry with which attempts begin and end, and look for results in vain.
func (t *trust) eventsOf(entry *snapshot.Entry) ([]attemptEvent, error) {
	events, err := entry.Events()
	if err != nil {
		return nil, err
	}
	kinds := []string{"CacheMiss", "NodeStarted", "NodeFinished", "NodeFailed", "NodeCancelled"}
	var out []attemptEvent
	for _, e := range events {
		of := attemptEvent{kind: e.Type}
		if !slices.Contains(kinds, e.Type) || json.Unmarshal(e.Payload, &of) != nil {
			continue
		}
		of.name = snapshot.AttemptKey(of.NodeID, of.Iteration, of.Attempt)
		out = append(out, of)
	}
	return out, nil
}

// readAttempts sets t.attempts.
func (t *trust) readAttempts() error {
	for a, err := range t.head.Entry().AllAttempts() {
		if err != nil {
			return err
		}
		t.attempts = append(t.attempts, a)
	}
	return nil
}

// read reads an entry. If attempts begin there whose ends were read, it stores their results, and returns how many.
func (t *trust) read(ctx context.Context, entry *snapshot.Entry) (added int, err error) {
	events, err := t.eventsOf(entry)
	if err != nil {
		return 0, err
	}
	for _, of := range events {
		if of.kind == "CacheMiss" {
			t.ends[of.name] = &endOfLookup{key: of.Key, entry: entry}
		}
	}
	for _, of := range events {
		for name, end := range t.ends {
			end.crowded = end.crowded || of.kind != "CacheMiss" && of.name != name
		}
	}
	for _, of := range events {
		end, ok := t.ends[of.name]
		if !ok || of.kind != "NodeStarted" {
			continue
		}
		delete(t.ends, of.name)
		result, err := t.result(ctx, of, end, entry)
		if err != nil {
			return added, err
		}
		if result == nil {
			continue
		}
		if err := t.cache.Put(ctx, result); err != nil {
			return added, err
		}
		added++
	}
	return added, nil
}

// result returns the result of an attempt, or nil if the cache must not have it. began is the entry in which the attempt began.
func (t *trust) result(ctx context.Context, of attemptEvent, end *endOfLookup, began *snapshot.Entry) (*cache.Entry, error) {
	at := slices.IndexFunc(t.attempts, func(a snapshot.Attempt) bool {
		return a.NodeID == of.NodeID && a.Iteration == of.Iteration && a.Attempt == of.Attempt
	})
	task, _ := snapshot.SplitScope(of.NodeID)
	row := t.head.Row()
	if at < 0 || end.key[cache.PartWorkflow] != row.Workflow || end.key[cache.PartNode] != task {
		return nil, nil //nolint:nilnil // the key is of another task
	}
	a := t.attempts[at]
	if a.State != snapshot.AttemptFinished || a.FinishedAtMs == nil || a.CachedFrom != "" || a.Worktree != "" {
		return nil, nil //nolint:nilnil // there is no result, or its files are elsewhere
	}
	e := &cache.Entry{
		Key: end.key, Run: row.ID, Frame: max(end.entry.Frame, 0), Iteration: a.Iteration, Attempt: a.Attempt,
		CreatedAtMs: *a.FinishedAtMs, TookMs: max(*a.FinishedAtMs-a.StartedAtMs, 0),
	}
	if ok, err := t.addOutput(e, &a, end.entry); err != nil || !ok {
		return nil, err
	}
	if ok, err := t.addFiles(ctx, e, end, began); err != nil || !ok {
		return nil, err
	}
	return e, nil
}

// addOutput adds the output that the attempt left in the state of an entry. It returns false if the output is not there, or had secrets.
func (t *trust) addOutput(e *cache.Entry, a *snapshot.Attempt, entry *snapshot.Entry) (bool, error) {
	state, err := entry.State()
	if err != nil {
		return false, err
	}
	key := snapshot.Key(a.NodeID, a.Iteration)
	value, ok, err := state.Nodes().Get(key)
	if err != nil || !ok {
		return false, err
	}
	node, err := snapshot.DecodeNode(page.Row{Key: key, Value: value})
	if err != nil {
		return false, err
	}
	if node.OutputTable == "" {
		return true, nil
	}
	output, ok, err := state.Outputs(node.OutputTable).Get(key)
	if err != nil || !ok {
		return false, err
	}
	whole, err := t.head.Reveal(snapshot.Place{Collection: snapshot.OutputCollection(node.OutputTable), Key: key}, output)
	if fault.CodeOf(err) == fault.SecretMissing || err == nil && !bytes.Equal(whole, output) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.Table, e.Output, e.Bytes = node.OutputTable, bytes.Clone(output), int64(len(output))
	kept, err := entry.Workflow()
	if err != nil || kept == nil {
		return err == nil, err
	}
	if schema := kept.Schemas[node.OutputTable]; schema != nil {
		e.SchemaSig = columns.Signature(node.OutputTable, schema)
	}
	return true, nil
}

// addFiles adds the files that differ between the entries in which the attempt began and ended. It returns false if they are not known, or if another
// attempt worked meanwhile and may have changed them.
func (t *trust) addFiles(ctx context.Context, e *cache.Entry, end *endOfLookup, began *snapshot.Entry) (bool, error) {
	before, after, err := revisions(began, end.entry)
	if err != nil {
		return false, err
	}
	_, compared := e.Key[cache.PartFiles]
	switch {
	case before.Tree.IsZero() && after.Tree.IsZero():
		return !compared, nil // without captures, only a task that compares no files has a result
	case !compared && e.Attempt > 1:
		return false, nil // an attempt before may have made some of the task's files
	case before.Tree.IsZero() || after.Tree.IsZero() || !slices.Equal(before.LeftOut, after.LeftOut) || before.LeftOutMore != after.LeftOutMore:
		return false, nil
	case e.Key[cache.PartFiles] != "" && e.Key[cache.PartFiles] != before.Tree.String():
		return false, nil // the history does not have the files that the key says
	case before.Tree == after.Tree:
		return true, nil
	}
	if alone, err := worksAlone(end, began); err != nil || !alone {
		return false, err
	}
	files, size, err := t.cache.Changes(ctx, before.Tree, after.Tree)
	if fault.CodeOf(err) == fault.LimitExceeded || fault.CodeOf(err) == fault.MissingObject {
		return false, nil // the run came without its files, or they are too many
	}
	e.Files, e.Bytes = files, e.Bytes+size
	return err == nil, err
}

// worksAlone reports whether no other attempt of the run worked while an attempt did. began is the entry in which it began.
func worksAlone(end *endOfLookup, began *snapshot.Entry) (bool, error) {
	state, err := began.State()
	if err != nil || end.crowded {
		return false, err
	}
	working := 0
	for n, err := range state.AllNodes() {
		if err != nil {
			return false, err
		}
		if n.State == snapshot.NodeInProgress {
			working++
		}
	}
	return working <= 1, nil
}

// revisions returns the captured files of two entries; zero where there are none.
func revisions(began, ended *snapshot.Entry) (before, after snapshot.VCS, err error) {
	for _, of := range []struct {
		entry *snapshot.Entry
		to    *snapshot.VCS
	}{{began, &before}, {ended, &after}} {
		read, err := of.entry.VCSRevision()
		if err != nil {
			return before, after, err
		}
		if read != nil {
			*of.to = *read
		}
	}
	return before, after, nil
}

// DistrustResults removes the results of a run from the cache of this clone, and returns how many there were.
func (d *Desk) DistrustResults(ctx context.Context, run string) (removed int, err error) {
	sums, err := cache.Of(d.Store).Remove(ctx, func(e *cache.Entry) bool { return e.Run == run })
	return len(sums), err
}
