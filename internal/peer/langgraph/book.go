package langgraph

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// book is what one process knows of a thread at an entry: its checkpoints without their values, and where its writes are.
type book struct {
	run     string
	tip     objstore.ID // the newest entry that the book has; zero for an empty book
	files   extFiles    // of that entry
	puts    int64       // the greatest number of a put
	records map[Key]*record
	sorted  []*record          // by id, and by namespace for equal ids
	writes  map[Key][]writesAt // by time
	asked   map[Key]*asking
	history history
	fork    objstore.ID // the frame from which the run was forked, which is its frame 0; zero for others
	taken   *takenAway  // what runAgain took away, until the next put of the graph; nil for nothing
	read    func(objstore.ID) (*snapshot.Entry, error)
}

// extFiles are the objects of the files of LangGraph in an entry.
type extFiles struct{ checkpoint, writes, requests objstore.ID }

// newBook returns an empty book of a run.
func newBook(run string, read func(objstore.ID) (*snapshot.Entry, error)) *book {
	return &book{run: run, read: read, records: make(map[Key]*record), writes: make(map[Key][]writesAt), asked: make(map[Key]*asking)}
}

// filesOf returns the objects of the files in an entry.
func filesOf(entry *snapshot.Entry) (extFiles, error) {
	ids, err := entry.ExtFileIDs(EngineName)
	return extFiles{ids[checkpointFile], ids[writesFile], ids[requestsFile]}, err
}

// advance takes in the entries that follow those of the book, up to tip. If tip does not descend from the book's entry,
// it takes in the whole chain anew, also that of the runs from which this one was forked.
func (b *book) advance(ctx context.Context, tip objstore.ID) error {
	var entries []*snapshot.Entry // newest first
	for id := tip; id != b.tip && !id.IsZero(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := b.read(id)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
		if id = entry.Parent; id.IsZero() && !b.tip.IsZero() {
			*b = *newBook(b.run, b.read) // another history
		}
	}
	for _, entry := range slices.Backward(entries) {
		if err := b.add(entry); err != nil {
			return err
		}
	}
	return nil
}

// add takes in the entry that follows the book's.
func (b *book) add(entry *snapshot.Entry) error {
	files, err := filesOf(entry)
	if err != nil {
		return err
	}
	if entry.Run == b.run && b.fork.IsZero() && !b.tip.IsZero() && !b.owns() {
		b.fork = b.tip // the fork's first entry follows the frame that was forked
		b.markFork()
	}
	unchanged := files == b.files // as in an entry that resets the run or undoes a reset, and in the first entry of a fork
	if unchanged && entry.Run != b.history.run {
		if r := b.newestPut(); r != nil && r.commit == b.tip {
			b.runAgain(r) // a command has forked the checkpoint's frame
		}
	}
	b.enterRun(entry.Run)
	var r *record
	if files.checkpoint != b.files.checkpoint && !files.checkpoint.IsZero() {
		data, err := entry.ExtFile(EngineName, checkpointFile)
		if err != nil {
			return err
		}
		if r, err = decodeRecord(entry, data); err != nil {
			return err
		}
		if entry.Run != b.run {
			r.frame = snapshot.NoFrame
		}
		b.giveBack(r)
		b.put(r)
	}
	if files.writes != b.files.writes && !files.writes.IsZero() {
		keys, err := writtenKeys(entry)
		if err != nil {
			return err
		}
		for _, key := range keys {
			b.setWrites(key, entry.ID)
		}
	}
	if files.requests != b.files.requests {
		b.history.now.requests = nil
	}
	b.tip, b.files = entry.ID, files
	if unchanged {
		if err := b.takeOps(entry); err != nil {
			return err
		}
	}
	if entry.Frame != snapshot.NoFrame {
		b.history.noteFrame(entry.Frame, b.requests(), r)
	}
	return nil
}

// owns reports whether the book's newest entry is one of the run itself.
func (b *book) owns() bool {
	entry, err := b.read(b.tip)
	return err == nil && entry.Run == b.run
}

// markFork gives the checkpoint of the forked frame its number in the fork, which is 0.
func (b *book) markFork() {
	for _, r := range b.sorted {
		if r.commit == b.fork {
			r.frame = 0
		}
	}
}

// put adds a checkpoint, in place of one with the same key.
func (b *book) put(r *record) {
	b.puts = max(b.puts, r.N)
	b.history.notePut(r.N)
	i, found := slices.BinarySearchFunc(b.sorted, r, compareRecords)
	if found {
		b.sorted[i] = r
	} else {
		b.sorted = slices.Insert(b.sorted, i, r)
	}
	b.records[r.key()] = r
}

// compareRecords orders checkpoints by their ids, and by their namespaces for equal ids.
func compareRecords(a, b *record) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.NS, b.NS))
}

// latest returns the checkpoint with the greatest id in a namespace. It returns nil if resets have left out all checkpoints of the
// namespace, or the namespace has no checkpoint.
func (b *book) latest(ns string) *record {
	for _, r := range slices.Backward(b.sorted) {
		if r.NS == ns && b.history.counts(r) {
			return r
		}
	}
	return nil
}

// parent returns the parent of a checkpoint, or nil if it has none or the parent is unknown.
func (b *book) parent(r *record) *record {
	if r.Parent == nil {
		return nil
	}
	return b.records[Key{r.NS, *r.Parent}]
}

// base returns the checkpoint from whose state that of a new checkpoint is made: its parent or, for the first one of a
// namespace, that of the innermost outer graph which the metadata names. If the thread has neither, base returns nil.
func (b *book) base(r *record) *record {
	if p := b.parent(r); p != nil || r.NS == "" {
		return p
	}
	var found *record
	for ns, id := range r.meta.Parents {
		if at := b.records[Key{ns, id}]; at != nil && ns != r.NS && (found == nil || len(ns) > len(found.NS)) {
			found = at
		}
	}
	return found
}

// pending returns the writes of a checkpoint. The result has no writes if the checkpoint has none.
func (b *book) pending(key Key) (pending, error) {
	return b.pendingAt(key, b.writesEntry(key, b.history.now.time))
}

// pendingAt returns the writes of a checkpoint in the file of an entry. The result has no writes for a zero entry.
func (b *book) pendingAt(key Key, at objstore.ID) (pending, error) {
	if at.IsZero() {
		return pending{Key: key}, nil
	}
	entry, err := b.read(at)
	if err != nil {
		return pending{}, err
	}
	data, err := entry.ExtFile(EngineName, writesFile)
	if err != nil {
		return pending{}, err
	}
	all, err := decodeWrites(entry, data)
	if err != nil {
		return pending{}, err
	}
	for _, p := range all {
		if p.Key == key {
			return p, nil
		}
	}
	return pending{Key: key}, nil
}
