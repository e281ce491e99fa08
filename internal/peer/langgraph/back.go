package langgraph

import (
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// LangGraph asks for the latest checkpoint and continues from there. A reset of a thread chooses this checkpoint: the checkpoints
// after it are left out until the reset is undone. A checkpoint that is left out can still be read by its id.

// span is the puts with numbers from after+1 to last.
type span struct{ after, last int64 }

// mark is the part of a thread that counted at a frame.
type mark struct {
	frame    int64
	puts     int64        // the number of the newest put
	time     int          // of the writes; see writesAt
	leftOut  []span       // never changed
	requests []requestsAt // never changed; in history.now without the newest entry
	put      *record      // the checkpoint that the frame put; nil for other frames
}

// requestsAt is an entry with a file of human requests, and the file's object. A reset restores the rows of the mailbox, but not the file.
type requestsAt struct{ entry, file objstore.ID }

// writesAt is the entry with the writes of a checkpoint from a time on. The entry is zero if the checkpoint has no writes from then on.
type writesAt struct {
	time  int // of a clock that ticks with each change of writes
	entry objstore.ID
}

// resetUndo has what an undo of a reset brings back.
type resetUndo struct {
	mark
	writes map[Key]objstore.ID
}

// history has the frames of a thread as targets of resets, and what its resets have left out.
type history struct {
	run        string            // the run of the newest entry
	now        mark              // without a frame
	marks      []mark            // of the frames of run, by frame
	undos      map[int]resetUndo // by the number of a reset
	ops        int               // the number of the newest op
	resetTo    *record           // the target of the newest reset; nil if a put came after it
	resetFrame int64             // the frame of that reset
	again      bool              // tasks of the thread run again, in this run or in a run from which it was forked
}

// noteFrame adds the mark of a frame. requests are the entries whose files of human requests count at the frame, and put is the checkpoint
// that the frame put, or nil.
func (h *history) noteFrame(frame int64, requests []requestsAt, put *record) {
	h.marks = append(h.marks, mark{frame, h.now.puts, h.now.time, h.now.leftOut, requests, put})
}

// notePut takes in a put with the number n.
func (h *history) notePut(n int64) {
	h.now.puts, h.resetTo = max(h.now.puts, n), nil
}

// counts reports whether a checkpoint counts, because no reset has left it out.
func (h *history) counts(r *record) bool {
	for _, s := range h.now.leftOut {
		if s.after < r.N && r.N <= s.last {
			return false
		}
	}
	return true
}

// goTo leaves out what came after a mark.
func (h *history) goTo(to mark) {
	puts := h.now.puts
	h.now.leftOut, h.now.requests = to.leftOut, to.requests
	if to.puts < puts {
		h.now.leftOut = append(slices.Clip(to.leftOut), span{to.puts, puts})
	}
}

// before returns the mark of the last frame up to frame.
func (h *history) before(frame int64) mark {
	var found mark
	for _, m := range h.marks {
		if m.frame > frame {
			break
		}
		found = m
	}
	return found
}

// enterRun begins the frames of a fork if the next entry is of another run. The frames and ops of the run before do not count in it.
func (b *book) enterRun(run string) {
	h := &b.history
	if run == h.run {
		return
	}
	h.run, h.marks, h.undos, h.ops = run, nil, nil, 0
	h.noteFrame(snapshot.NoFrame, b.requests(), nil)
}

// requests returns the entries whose files of human requests count at the book's newest entry.
func (b *book) requests() []requestsAt {
	at := b.history.now.requests
	if slices.ContainsFunc(at, func(r requestsAt) bool { return r.file == b.files.requests }) {
		return at
	}
	return append(slices.Clip(at), requestsAt{b.tip, b.files.requests})
}

// takeOps takes in the new resets of an entry, and the new undos of resets.
func (b *book) takeOps(entry *snapshot.Entry) error {
	ops, err := timeline.OpsAt(entry)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if op.Number <= b.history.ops {
			continue
		}
		b.history.ops = op.Number
		was, undone := b.history.undos[op.Undoes]
		switch {
		case op.Kind == snapshot.OpUndo && undone:
			b.taken = nil
			b.history.goTo(was.mark)
			for key, at := range was.writes {
				b.setWrites(key, at)
			}
		case op.Kind == snapshot.OpReset && op.To != nil:
			b.reset(op, entry.Newest)
		}
	}
	return nil
}

// reset takes in a reset, whose own frame is frame. LangGraph runs the next tasks of the target again. So the writes of these tasks
// after the target do not count, and none do if the target is the checkpoint's own frame.
func (b *book) reset(op snapshot.Op, frame int64) {
	h := &b.history
	undo := resetUndo{mark{h.now.frame, h.now.puts, h.now.time, h.now.leftOut, b.requests(), nil}, make(map[Key]objstore.ID)}
	to := h.before(*op.To)
	h.goTo(to)
	seen := make(map[string]bool)
	h.resetTo, h.resetFrame, h.again, b.taken = b.newestPut(), frame, true, nil
	for _, r := range slices.Backward(b.sorted) {
		if seen[r.NS] || !h.counts(r) {
			continue
		}
		seen[r.NS] = true
		undo.writes[r.key()] = b.writesEntry(r.key(), h.now.time)
		b.setWrites(r.key(), b.writesEntry(r.key(), to.time))
	}
	if to.put != nil && to.put == h.resetTo {
		b.runAgain(to.put)
	}
	if h.undos == nil {
		h.undos = make(map[int]resetUndo)
	}
	h.undos[op.Number] = undo
}

// newestPut returns the checkpoint that was put last of the latest ones of all namespaces, or nil if no checkpoint counts.
func (b *book) newestPut() (newest *record) {
	seen := make(map[string]bool)
	for _, r := range slices.Backward(b.sorted) {
		if !seen[r.NS] && b.history.counts(r) {
			if seen[r.NS] = true; newest == nil || r.N > newest.N {
				newest = r
			}
		}
	}
	return newest
}

// runAgain makes LangGraph run the tasks of a checkpoint again. LangGraph may store their writes, and the checkpoints of subgraphs that they
// run, before the checkpoint itself. Neither counts from now on.
func (b *book) runAgain(r *record) {
	b.history.again = true
	b.taken = &takenAway{r.key(), b.writesEntry(r.key(), b.history.now.time), b.history.now.leftOut}
	b.setWrites(r.key(), objstore.ID{})
	left := &b.history.now.leftOut
	for _, inner := range b.sorted {
		if inner.NS != r.NS && inner.meta.Parents[r.NS] == r.ID && b.history.counts(inner) {
			*left = append(slices.Clip(*left), span{inner.N - 1, inner.N})
		}
	}
}

// takenAway is what runAgain took away from a checkpoint.
type takenAway struct {
	key     Key
	writes  objstore.ID // the entry with the writes
	leftOut []span      // before
}

// giveBack takes runAgain back in a thread that went on from what the tasks had done, as LangGraph did with git-smithers up to 0.1.2: the thread
// puts r, and its tasks have written nothing for the parent of r since.
func (b *book) giveBack(r *record) {
	taken := b.taken
	if taken == nil || r.Parent == nil || (Key{NS: r.NS, ID: *r.Parent}) != taken.key {
		return
	}
	if b.taken = nil; b.writesEntry(taken.key, b.history.now.time).IsZero() && !taken.writes.IsZero() {
		b.setWrites(taken.key, taken.writes)
		b.history.now.leftOut = taken.leftOut
	}
}

// writesEntry returns the entry whose file had the writes of a checkpoint at a time, or zero if the checkpoint had no writes.
func (b *book) writesEntry(key Key, time int) objstore.ID {
	for _, w := range slices.Backward(b.writes[key]) {
		if w.time <= time {
			return w.entry
		}
	}
	return objstore.ID{}
}

// setWrites makes entry the entry with the writes of a checkpoint from now on. A zero entry removes the writes.
func (b *book) setWrites(key Key, entry objstore.ID) {
	now := &b.history.now.time
	if b.writesEntry(key, *now) == entry {
		return
	}
	*now++
	b.writes[key] = append(b.writes[key], writesAt{*now, entry})
}
