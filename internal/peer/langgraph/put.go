package langgraph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Put is a checkpoint that a client hands in.
type Put struct {
	Key

	Parent     *string         // the id of the parent in the same namespace; nil for a root
	Orphan     bool            // the parent may be missing, as in an import
	Checkpoint json.RawMessage // an object without the values of the channels
	Metadata   json.RawMessage // an object
	Present    []string        // the channels that have a value; one without a version keeps the value of the parent
	Sent       map[string]Sent // the values that the client sends, by channel
	Files      bool            // the frame gets the files of the working copy
}

// Sent is a value that a client sends. If Base is set, Data follows the beginning of an earlier value.
type Sent struct {
	Value

	Base *Base
	Seen int // the number of bytes at the beginning that the parent's value has, if the caller knows it
}

// Base names the beginning of an earlier value of the same channel and type: the first Length bytes of the value that the
// channel has in the frame with the commit.
type Base struct {
	Commit objstore.ID
	Length int
}

// PutResult is the answer to a Put. If Need or Full is set, nothing was stored.
type PutResult struct {
	Frame  int64       // the number of the frame; NoFrame if the put was dropped
	Commit objstore.ID // the frame's commit; zero if the put was dropped
	Need   []string    // the channels whose values the client must send
	Full   []string    // the channels whose values the client must send whole: their Base is not known
}

// Put stores a checkpoint of a thread as a frame. A put that is repeated stores nothing. A put with the id of another
// checkpoint replaces it. If the thread was deleted, a put without a parent begins it again, and a put with a parent, which
// comes too late, is dropped. Codes: invalid_input, invalid_run_id, limit_exceeded, frame_not_found for the parent, and those of a write.
func (t *Threads) Put(ctx context.Context, id string, put Put) (result PutResult, err error) {
	if err := put.check(); err != nil {
		return result, err
	}
	err = t.use(ctx, id, func(th *thread) error {
		p := putter{thread: th, put: put}
		defer p.close()
		result, err = p.store(ctx)
		return err
	})
	return result, err
}

// check returns invalid_input if the put has members that cannot be stored.
func (p *Put) check() error {
	switch {
	case p.ID == "":
		return fault.New(fault.InvalidInput, "the checkpoint has no id")
	case !isObject(p.Checkpoint):
		return fault.New(fault.InvalidInput, "the checkpoint is not a JSON object")
	case !isObject(p.Metadata):
		return fault.New(fault.InvalidInput, "the metadata is not a JSON object")
	}
	return nil
}

// putter stores one put.
type putter struct {
	thread *thread
	put    Put
	files  *fileCapture
	result PutResult

	// of the newest draft
	record    *record
	versioned []string // the channels that have both a value and a version: a task that comes next is one
	grown     []grownValue
}

// store appends the frame of the put, unless the thread has it already.
func (p *putter) store(ctx context.Context) (PutResult, error) {
	entry, err := p.thread.update(ctx, func() (*snapshot.Draft, error) { return p.draft(ctx) })
	if err != nil || entry == nil {
		return p.result, err
	}
	p.result.Frame, p.result.Commit = entry.Frame, entry.ID
	for _, g := range p.grown {
		p.thread.threads.grown.Put(valueKey{entry.ID, g.channel}, g.value)
	}
	return p.result, nil
}

// draft returns the draft of the frame on the newest entry of the thread, or nil if nothing must be stored.
func (p *putter) draft(ctx context.Context) (*snapshot.Draft, error) {
	th := p.thread
	p.result, p.grown, p.versioned = PutResult{Frame: snapshot.NoFrame}, nil, nil
	if th.head == nil && p.put.Parent != nil {
		if pruned, err := th.pruned(ctx); err != nil || pruned {
			return nil, err
		}
	}
	p.record = &record{
		N: th.book.puts + 1, NS: p.put.NS, ID: p.put.ID, Parent: p.put.Parent, Checkpoint: p.put.Checkpoint, Metadata: p.put.Metadata,
	}
	_ = json.Unmarshal(p.put.Metadata, &p.record.meta) // what has another form does not count
	if err := p.refuseStrayed(); err != nil {
		return nil, err
	}
	base := th.book.base(p.record)
	restore := snapshot.EmptyState()
	if base != nil {
		var err error
		if restore, err = th.state(base); err != nil {
			return nil, err
		}
	}
	changes, err := p.changes(restore)
	if err != nil || changes == nil {
		return nil, err
	}
	if same, err := p.isStored(changes, restore); err != nil || same {
		return nil, err
	}
	frame := &snapshot.FrameDraft{State: changes, Restore: restore, Based: p.based(base), Silent: true, IDs: []string{frameID(p.put.ID)}}
	draft := &snapshot.Draft{
		Frame: frame, AtMs: p.atMs(), Subject: p.subject(),
		Ext: &snapshot.ExtDraft{Engine: EngineName, Files: map[string][]byte{checkpointFile: p.record.encode()}},
	}
	if p.put.NS == "" {
		draft.Run = p.status(draft.AtMs)
	}
	if err := th.mailOfPut(draft, p.put.Key, p.versioned); err != nil {
		return nil, err
	}
	return draft, p.addFiles(ctx, draft)
}

// frameID returns the id of the frame of a checkpoint: the checkpoint's id, cut if it is too long for a frame.
func frameID(id string) string {
	if len(id) <= snapshot.MaxID {
		return id
	}
	return strings.ToValidUTF8(id[:snapshot.MaxID], "")
}

// refuseStrayed returns frame_not_found for the first checkpoint of an update or a run whose parent the thread does not have. The caller
// has named an unknown checkpoint, so LangGraph began with no values at all, and the thread would seem empty.
func (p *putter) refuseStrayed() error {
	book, source := p.thread.book, p.record.meta.Source
	if p.put.Parent == nil || p.put.Orphan || book.parent(p.record) != nil || source != "update" && source != "input" || book.latest(p.put.NS) == nil {
		return nil
	}
	return fault.New(fault.FrameNotFound, "thread %q has no checkpoint %q", p.thread.id, *p.put.Parent).
		Hint("`graph.getStateHistory(config)` lists the checkpoints; without checkpoint_id the thread goes on from the latest")
}

// changes returns the changes that make the table of the put's namespace out of that in the state base. It sets the
// names and types of the record. The result is never nil, unless the client must send more: then the result of the put
// says what.
func (p *putter) changes(base *snapshot.State) ([]snapshot.Change, error) {
	table := tableOf(p.put.NS)
	has, err := keysOf(base.Outputs(table))
	if err != nil {
		return nil, err
	}
	parent := p.thread.book.parent(p.record)
	var before map[string]json.RawMessage
	if parent != nil {
		before = parent.versions()
	}
	versions := p.record.versions()
	changes := []snapshot.Change{}
	keep := make(map[string]bool)
	for _, channel := range p.put.Present {
		key := rowKey(channel)
		sent, isSent := p.put.Sent[channel]
		version, known := versions[channel]
		if known {
			p.versioned = append(p.versioned, channel)
		}
		switch {
		case isSent:
			value, err := p.whole(channel, sent)
			if err != nil || value == nil {
				return nil, err
			}
			keep[key] = true
			set := p.set(table, channel, *value)
			if value.Type == typeJSON && parent != nil {
				set.Seen = sent.Seen
				if sent.Base != nil && sent.Base.Commit == parent.commit {
					set.Seen = sent.Base.Length
				}
			}
			changes = append(changes, set)
		case !known, before != nil && string(before[channel]) == string(version):
			if parent != nil && has[key] {
				keep[key] = true
				p.inherit(parent, channel)
			}
		default:
			has, err := p.thread.everStored(p.put.NS, channel, version)
			if err != nil {
				return nil, err
			}
			if has {
				p.result.Need = append(p.result.Need, channel)
			}
		}
	}
	if len(p.result.Need) > 0 || len(p.result.Full) > 0 {
		return nil, nil
	}
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if !keep[key] {
			changes = append(changes, snapshot.RemoveRow(snapshot.OutputCollection(table), key))
		}
	}
	return changes, nil
}

// keysOf returns the keys of a collection's rows.
func keysOf(rows *page.Collection) (map[string]bool, error) {
	keys := make(map[string]bool, rows.Len())
	for key, err := range rows.Keys() {
		if err != nil {
			return nil, err
		}
		keys[key] = true
	}
	return keys, nil
}

// whole returns the whole value that the client has sent, or nil if its beginning is not known.
func (p *putter) whole(channel string, sent Sent) (*Value, error) {
	if sent.Base == nil {
		return &sent.Value, nil
	}
	begin, err := p.thread.valueAt(p.put.NS, channel, sent.Base.Commit)
	if err != nil {
		return nil, err
	}
	if begin == nil || begin.Type != sent.Type || sent.Base.Length < 0 || len(begin.Data) < sent.Base.Length {
		p.result.Full = append(p.result.Full, channel)
		return nil, nil //nolint:nilnil // the result says what is missing
	}
	whole := Value{sent.Type, slices.Concat(begin.Data[:sent.Base.Length], sent.Data)}
	p.grown = append(p.grown, grownValue{channel, whole})
	return &whole, nil
}

// grownValue is a value that a client has continued, and can continue again.
type grownValue struct {
	channel string
	value   Value
}

// set returns the change that sets a channel's row, and notes in the record what the row alone does not say.
func (p *putter) set(table, channel string, value Value) snapshot.Change {
	text, coded := value.stored()
	if coded {
		p.record.addType(channel, value.Type)
	}
	p.record.addName(channel)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.OutputCollection(table), Key: rowKey(channel), Value: text}
}

// inherit notes in the record what the parent's record says of a channel whose row stays.
func (p *putter) inherit(parent *record, channel string) {
	if kind, coded := parent.Types[channel]; coded {
		p.record.addType(channel, kind)
	}
	p.record.addName(channel)
}

// addType notes that the row of a channel has its value in base64.
func (r *record) addType(channel, kind string) {
	if r.Types == nil {
		r.Types = make(map[string]string)
	}
	r.Types[channel] = kind
}

// addName notes a channel whose row has another name.
func (r *record) addName(channel string) {
	name := rowName(channel)
	if name == channel {
		return
	}
	if r.Names == nil {
		r.Names = make(map[string]string)
	}
	r.Names[name] = channel
}

// isStored reports whether the thread has the same checkpoint with the same values already.
func (p *putter) isStored(changes []snapshot.Change, base *snapshot.State) (bool, error) {
	had := p.thread.book.records[p.put.Key]
	if had == nil {
		return false, nil
	}
	again := *p.record
	again.N = had.N
	if !slices.Equal(again.encode(), had.encode()) {
		return false, nil
	}
	state, err := p.thread.state(had)
	if err != nil {
		return false, err
	}
	table := tableOf(p.put.NS)
	rows, want := state.Outputs(table), make(map[string]json.RawMessage)
	for row, err := range base.Outputs(table).Rows() {
		if err != nil {
			return false, err
		}
		want[row.Key] = row.Value
	}
	for _, c := range changes {
		if delete(want, c.Key); c.Op == snapshot.OpSet {
			want[c.Key] = c.Value
		}
	}
	same, err := hasRows(rows, want)
	if same {
		p.result.Frame, p.result.Commit = had.frame, had.commit
	}
	return same, err
}

// hasRows reports whether a collection has exactly the given rows.
func hasRows(rows *page.Collection, want map[string]json.RawMessage) (bool, error) {
	if rows.Len() != len(want) {
		return false, nil
	}
	for row, err := range rows.Rows() {
		if err != nil {
			return false, err
		}
		if text, found := want[row.Key]; !found || string(text) != string(row.Value) {
			return false, nil
		}
	}
	return true, nil
}

// based returns the number of the frame on which the new frame is based, if that is not the frame before it. Frames of
// inner graphs of the same step may stand between: people expect them before the step's end.
func (p *putter) based(base *record) *int64 {
	th := p.thread
	if th.head == nil {
		return nil
	}
	newest := th.head.Row().Frame
	none := snapshot.NoFrame
	if base == nil || base.frame == snapshot.NoFrame {
		return &none
	}
	from := base.frame
	if h := &th.book.history; base == h.resetTo {
		from = h.resetFrame
	}
	between := newest - from
	for _, r := range slices.Backward(th.book.sorted) {
		if r.frame > from && r.meta.Parents[base.NS] == base.ID && r.NS != base.NS {
			between--
		}
	}
	if between == 0 {
		return nil
	}
	return &from
}

// atMs returns the time of the checkpoint, so that the same put has the same commit wherever it is made. If the
// checkpoint has no time, it is that of the entry before.
func (p *putter) atMs() int64 {
	var c struct {
		TS string `json:"ts"`
	}
	_ = json.Unmarshal(p.put.Checkpoint, &c) // another form is no time
	at, err := time.Parse(time.RFC3339Nano, c.TS)
	if ms := at.UnixMilli(); err == nil && ms >= 0 && at.Year() < 9999 {
		return ms
	}
	if p.thread.head != nil {
		return p.thread.head.Entry().AtMs
	}
	return p.thread.threads.store.Now().UnixMilli()
}

// subject returns the subject of the frame, such as "step 2: loop, next writeJoke".
func (p *putter) subject() string {
	var text strings.Builder
	meta := p.record.meta
	if meta.Step != nil {
		fmt.Fprintf(&text, "step %d: ", *meta.Step)
	}
	text.WriteString(cmp.Or(meta.Source, "checkpoint"))
	if p.put.NS != "" {
		fmt.Fprintf(&text, " in %s", p.put.NS)
	}
	if nodes, _ := next(p.versioned, false); len(nodes) > 0 {
		fmt.Fprintf(&text, ", next %s", strings.Join(nodes, ", "))
	}
	return text.String()
}

// status returns the edit of the run's row: the thread has finished if nothing comes next, and runs if anything does.
func (p *putter) status(atMs int64) func(*snapshot.Run) {
	_, ends := next(p.versioned, slices.Contains(p.versioned, sendsChannel))
	return func(row *snapshot.Run) {
		row.Error = ""
		if !ends {
			row.Status, row.FinishedAtMs = snapshot.RunRunning, nil
		} else if row.Status != snapshot.RunFinished {
			row.Status, row.FinishedAtMs = snapshot.RunFinished, &atMs
		}
	}
}

// pruned reports whether the thread was deleted.
func (th *thread) pruned(ctx context.Context) (bool, error) {
	err := timeline.RefusePruned(ctx, th.threads.store, th.id)
	if fault.CodeOf(err) == fault.RunPruned {
		return true, nil
	}
	return false, err
}

// errNoFiles says that the server has no working copy whose files a frame could get.
var errNoFiles = errors.New("the repository has no working copy, so the frames of threads get no files")

// addFiles adds the files of the working copy to the draft, if the put asks for them. It captures them once, however
// often the frame is drafted. If there is no working copy, the frame has no files, with a warning.
func (p *putter) addFiles(ctx context.Context, draft *snapshot.Draft) error {
	if !p.put.Files {
		return nil
	}
	if p.files == nil {
		p.files = new(fileCapture)
		files, err := files.WorkingCopyOf(p.thread.threads.store).For(p.thread.id, "").Capture(ctx)
		if err != nil {
			return err
		}
		if files == nil {
			p.thread.threads.store.WarnOnce(errNoFiles)
		}
		p.files.captured = files
	}
	p.files.add(draft)
	return nil
}

// close releases the captured files.
func (p *putter) close() {
	if p.files != nil {
		p.files.close()
	}
}
