package langgraph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Tuple is a checkpoint with its values and writes.
type Tuple struct {
	Key

	Thread     string
	Parent     *string
	Checkpoint json.RawMessage
	Metadata   json.RawMessage
	Frame      int64
	Commit     objstore.ID
	Values     map[string]Value
	Writes     []Write // sorted by the path of the task, the task, and the position
	Sends      []Write // the parent's writes to __pregel_tasks, for a checkpoint of an older version
}

// sendsChannel is the channel of tasks that a node sends. Before version 4, they were in the parent's writes alone.
const sendsChannel = "__pregel_tasks"

// Get returns a checkpoint, or the latest one of the namespace if key.ID is "". If the thread has no such checkpoint, Get returns nil. The writes
// of the result also have the answers that people have given in the mailbox.
func (t *Threads) Get(ctx context.Context, id string, key Key) (tuple *Tuple, err error) {
	err = t.use(ctx, id, func(th *thread) error {
		r := th.book.records[key]
		if key.ID == "" {
			r = th.book.latest(key.NS)
		}
		if r == nil {
			return nil
		}
		if tuple, err = (&reader{thread: th}).tuple(r); err == nil {
			tuple.Writes, err = th.answers(r.key(), tuple.Writes)
		}
		return timeline.Explain(err)
	})
	return tuple, err
}

// reader reads the tuples of a thread, one after the other. It reads only the values in which a tuple differs from the
// tuple before in the same namespace.
type reader struct {
	thread *thread
	before map[string]readTable // by namespace
}

// readTable is a table of channels with its values.
type readTable struct {
	record *record
	rows   *page.Collection
	values map[string]Value
}

// tuple returns the tuple of a checkpoint.
func (rd *reader) tuple(r *record) (*Tuple, error) {
	state, err := rd.thread.state(r)
	if err != nil {
		return nil, err
	}
	values, err := rd.values(r, state.Outputs(tableOf(r.NS)))
	if err != nil {
		return nil, err
	}
	writes, err := rd.thread.book.pending(r.key())
	if err != nil {
		return nil, err
	}
	tuple := &Tuple{
		Key: r.key(), Thread: rd.thread.id, Parent: r.Parent, Checkpoint: r.Checkpoint, Metadata: r.Metadata,
		Frame: r.frame, Commit: r.commit, Values: values, Writes: writes.Writes,
	}
	var c struct {
		V float64 `json:"v"`
	}
	if json.Unmarshal(r.Checkpoint, &c) == nil && c.V < 4 && r.Parent != nil {
		sends, err := rd.thread.book.pending(Key{r.NS, *r.Parent})
		if err != nil {
			return nil, err
		}
		tuple.Sends = slices.DeleteFunc(sends.Writes, func(w Write) bool { return w.Channel != sendsChannel })
	}
	return tuple, nil
}

// values returns the values of a checkpoint by channel. rows is its table. The caller must not change the map.
func (rd *reader) values(r *record, rows *page.Collection) (map[string]Value, error) {
	values := make(map[string]Value)
	before, known := rd.before[r.NS]
	if !known {
		before.record, before.rows = r, snapshot.EmptyState().Outputs(channelsTable)
	}
	maps.Copy(values, before.values)
	for d, err := range page.Diff(before.rows, rows) {
		if err != nil {
			return nil, err
		}
		in := r
		if d.To == nil {
			in = before.record
		}
		channel, err := in.channelOf(d.Key)
		if err != nil {
			return nil, err
		}
		if d.To == nil {
			delete(values, channel)
			continue
		}
		if values[channel], err = r.valueOf(channel, d.To); err != nil {
			return nil, err
		}
	}
	for channel, v := range values { // the same row can have another type
		if kind, coded := r.Types[channel]; coded != (v.Type != typeJSON) || coded && kind != v.Type {
			value, _, err := r.get(rows, channel)
			if err != nil {
				return nil, err
			}
			values[channel] = value
		}
	}
	if rd.before == nil {
		rd.before = make(map[string]readTable)
	}
	rd.before[r.NS] = readTable{r, rows, values}
	return values, nil
}

// Query selects checkpoints for List.
type Query struct {
	Thread *string // nil for all threads
	NS     *string // nil for all namespaces
	ID     *string
	Before *string // only ids before this one
	Filter map[string]json.RawMessage
	After  *Cursor // begins after this place
	Limit  int     // the number of tuples at most; 0 means no limit
}

// Cursor is a place in a list.
type Cursor struct {
	Thread string `json:"thread"`
	Key
}

// listed is a checkpoint of a list.
type listed struct {
	thread string
	record *record
}

// List yields the checkpoints that the query selects, that with the greatest id first. It ends with the first error.
func (t *Threads) List(ctx context.Context, q Query) iter.Seq2[*Tuple, error] {
	return func(yield func(*Tuple, error) bool) {
		found, err := t.find(ctx, q)
		if err != nil {
			yield(nil, err)
			return
		}
		readers := make(map[string]*reader)
		for i, at := range found {
			if q.Limit > 0 && i == q.Limit {
				return
			}
			var tuple *Tuple
			err := t.use(ctx, at.thread, func(th *thread) error {
				rd := readers[at.thread]
				if rd == nil {
					rd = new(reader)
					readers[at.thread] = rd
				}
				rd.thread = th
				if r := th.book.records[at.record.key()]; r != nil { // it can be replaced or gone meanwhile
					tuple, err = rd.tuple(r)
				}
				return timeline.Explain(err)
			})
			if err == nil && tuple == nil {
				continue
			}
			if !yield(tuple, err) || err != nil {
				return
			}
		}
	}
}

// find returns the checkpoints that the query selects, that with the greatest id first: at least q.Limit of them, if there are so many. For
// a list of all threads, it reads those whose ids are the greatest by the index, and all forks, whose earlier checkpoints the index does
// not have. If the index cannot help, it reads all threads.
func (t *Threads) find(ctx context.Context, q Query) ([]listed, error) {
	filter, err := parseFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	if q.Thread != nil {
		return t.selected(ctx, q, filter, []string{*q.Thread}, "")
	}
	subject, tells := filter.subject()
	limit := cmp.Or(q.Limit, 255) + 1 // the last id does not count: other threads can have it
	if !tells {
		limit = math.MaxInt32 // any checkpoint can be the only one
	}
	index, err := t.store.Index(ctx)
	for ; err == nil && index.Degraded() == nil; limit *= 4 {
		threads, reached, err := index.WithNewestIDs(ctx, EngineName, q.below(), subject, limit)
		if err != nil {
			break
		}
		found, err := t.selected(ctx, q, filter, threads, reached)
		if err != nil || reached == "" || q.Limit > 0 && len(found) >= q.Limit {
			return found, err
		}
	}
	threads, err := t.All(ctx)
	if err != nil {
		return nil, err
	}
	return t.selected(ctx, q, filter, threads, "")
}

// below returns an id that is greater than the ids of all frames whose checkpoints the query selects.
func (q *Query) below() string {
	below, limits := "\xff", []*string{q.Before, q.ID}
	if q.After != nil {
		limits = append(limits, &q.After.ID)
	}
	for _, id := range limits {
		if id != nil {
			below = min(below, frameID(*id)+"\x00")
		}
	}
	return below
}

// subject returns a pattern of LIKE that matches the subjects of all frames that the filter can fit. tells reports whether most of them fit.
func (f filter) subject() (pattern string, tells bool) {
	source, _ := f["source"].(string)
	if slices.Contains([]string{"input", "loop", "update", "fork"}, source) {
		return "%" + source + "%", true
	}
	return "%", len(f) == 0
}

// selected returns the checkpoints of threads that the query selects, that with the greatest id first. The ids of their frames are not below
// reached.
func (t *Threads) selected(ctx context.Context, q Query, f filter, threads []string, reached string) ([]listed, error) {
	found := []listed{}
	for _, id := range threads {
		err := t.use(ctx, id, func(th *thread) error {
			for _, r := range th.book.sorted {
				at := listed{id, r}
				if q.selects(at) && frameID(r.ID) >= reached && (q.ID != nil || th.book.history.counts(r)) && f.fits(r.Metadata) {
					found = append(found, at)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b listed) int { return b.compare(Cursor{a.thread, a.record.key()}) })
	return found, nil
}

// selects reports whether the query selects a checkpoint, but for its metadata.
func (q *Query) selects(at listed) bool {
	r := at.record
	return (q.NS == nil || *q.NS == r.NS) && (q.ID == nil || *q.ID == r.ID) && (q.Before == nil || r.ID < *q.Before) &&
		(q.After == nil || at.compare(*q.After) < 0)
}

// compare compares the place of a checkpoint in a list with another: by ids, then namespaces, then threads.
func (l listed) compare(c Cursor) int {
	return cmp.Or(strings.Compare(l.record.ID, c.ID), strings.Compare(l.record.NS, c.NS), strings.Compare(l.thread, c.Thread))
}

// filter are the members that the metadata of a checkpoint must have, decoded.
type filter map[string]any

// parseFilter decodes the members of a filter.
func parseFilter(members map[string]json.RawMessage) (filter, error) {
	f := make(filter)
	for name, text := range members {
		value, err := decodeAny(text)
		if err != nil {
			return nil, err
		}
		f[name] = value
	}
	return f, nil
}

// fits reports whether metadata has the members of the filter.
func (f filter) fits(metadata json.RawMessage) bool {
	if len(f) == 0 {
		return true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(metadata, &members) != nil {
		return false
	}
	for name, want := range f {
		text, found := members[name]
		if !found {
			return false
		}
		if has, err := decodeAny(text); err != nil || !reflect.DeepEqual(has, want) {
			return false
		}
	}
	return true
}

// decodeAny decodes a JSON value with numbers as JavaScript has them.
func decodeAny(text json.RawMessage) (value any, err error) {
	err = json.NewDecoder(bytes.NewReader(text)).Decode(&value)
	return value, err
}

// All returns the ids of all threads, sorted. A run that cannot be read is left out, with a warning.
func (t *Threads) All(ctx context.Context) ([]string, error) {
	tips, err := t.store.Refs().Tips(ctx)
	broken, err := timeline.BrokenRefs(err)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for _, b := range broken {
		t.store.WarnOnce(b)
	}
	var ids []string
	for _, tip := range tips {
		entry, err := t.read(tip.ID)
		if err != nil {
			t.store.WarnOnce(err)
			continue
		}
		if is, err := entry.HasExt(EngineName); err != nil || !is {
			continue
		}
		if row, err := entry.RunRow(); err == nil {
			ids = append(ids, row.ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
