package langgraph

import (
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// LangGraph goes on from the latest checkpoint, and names none itself. So a reset of a thread says which one is the latest:
// the checkpoints after it are left out until an undo of the reset. They can still be read by their ids.

// span are the puts with numbers above after, up to to.
type span struct{ after, to int64 }

// mark is what counts of a thread at a frame: the puts up to a number, but for those left out.
type mark struct {
	frame    int64
	puts     int64
	time     int          // of the writes
	out      []span       // never changed
	requests []requestsAt // never changed; in a history's now, those beside the file of the newest entry
}

// requestsAt is an entry whose file of human requests counts: a reset brings back rows of the mailbox, but not the file.
type requestsAt struct{ entry, file objstore.ID }

// written is an entry whose file has the writes of a checkpoint from a time on; zero if its writes are left out from then on.
type written struct {
	time  int // of a clock that ticks with each change of writes
	entry objstore.ID
}

// back is what an undo of a reset brings back.
type back struct {
	mark
	writes map[Key]objstore.ID
}

// history is what a book knows of the resets in a thread, and of the frames to which they can go.
type history struct {
	run   string       // the run of the newest entry
	now   mark         // its frame does not count
	marks []mark       // by frame, the newest frame of the run last
	backs map[int]back // by the number of a reset
	ops   int          // the number of the newest op
	stand *record      // the checkpoint to which the newest reset went; nil if a put came since
	at    int64        // the frame of that reset
	went  bool         // there was a reset, also before a fork
}

// noteFrame remembers what counts at a frame, where requests count.
func (h *history) noteFrame(frame int64, requests []requestsAt) {
	h.marks = append(h.marks, mark{frame, h.now.puts, h.now.time, h.now.out, requests})
}

// notePut remembers that a put with the number n came.
func (h *history) notePut(n int64) {
	h.now.puts, h.stand = max(h.now.puts, n), nil
}

// counts reports whether a checkpoint counts: no reset has left it out.
func (h *history) counts(r *record) bool {
	for _, s := range h.now.out {
		if s.after < r.N && r.N <= s.to {
			return false
		}
	}
	return true
}

// goTo leaves out what came after a mark.
func (h *history) goTo(to mark) {
	puts := h.now.puts
	h.now.out, h.now.requests = to.out, to.requests
	if to.puts < puts {
		h.now.out = append(slices.Clip(to.out), span{to.puts, puts})
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
	h.run, h.marks, h.backs, h.ops = run, nil, nil, 0
	h.noteFrame(snapshot.NoFrame, b.requests())
}

// requests returns the entries whose files of human requests count at the book's newest entry.
func (b *book) requests() []requestsAt {
	at := b.history.now.requests
	if slices.ContainsFunc(at, func(r requestsAt) bool { return r.file == b.files.requests }) {
		return at
	}
	return append(slices.Clip(at), requestsAt{b.tip, b.files.requests})
}

// takeOps takes in what the new ops of an entry do to the thread.
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
		was, undone := b.history.backs[op.Undoes]
		switch {
		case op.Kind == snapshot.OpUndo && undone:
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

// reset goes back to a frame. The tasks that come next there are run again: the writes that they left after the frame do not count.
func (b *book) reset(op snapshot.Op, frame int64) {
	h := &b.history
	undo := back{mark{h.now.frame, h.now.puts, h.now.time, h.now.out, b.requests()}, make(map[Key]objstore.ID)}
	to := h.before(*op.To)
	h.goTo(to)
	seen := make(map[string]bool)
	h.stand, h.at, h.went = nil, frame, true
	for _, r := range slices.Backward(b.sorted) {
		if seen[r.NS] || !h.counts(r) {
			continue
		}
		seen[r.NS] = true
		if h.stand == nil || r.N > h.stand.N {
			h.stand = r
		}
		undo.writes[r.key()] = b.written(r.key(), h.now.time)
		b.setWrites(r.key(), b.written(r.key(), to.time))
	}
	if h.backs == nil {
		h.backs = make(map[int]back)
	}
	h.backs[op.Number] = undo
}

// written returns the entry whose file had the writes of a checkpoint at a time, or zero if it had none.
func (b *book) written(key Key, time int) objstore.ID {
	for _, w := range slices.Backward(b.writes[key]) {
		if w.time <= time {
			return w.entry
		}
	}
	return objstore.ID{}
}

// setWrites says which entry has the writes of a checkpoint from now on; zero if it has none.
func (b *book) setWrites(key Key, entry objstore.ID) {
	now := &b.history.now.time
	if b.written(key, *now) == entry {
		return
	}
	*now++
	b.writes[key] = append(b.writes[key], written{*now, entry})
}
