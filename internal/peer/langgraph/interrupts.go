package langgraph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// asked adds the requests of a task that is interrupted. If a request for the same interrupt waits, the task asks it again; otherwise
// this is the next one, although the value that resumed the task may come later. What the task asked before and does not ask any more is
// over.
func (th *thread) asked(draft *snapshot.Draft, all []request, node string, key Key, w Write, writes pending) ([]request, error) {
	asks := interruptsOf(w)
	left, err := th.close(draft, all, func(r request) bool {
		return r.ID == key.ID && r.Task == w.Task && r.Interrupt != "" && !slices.ContainsFunc(asks, func(i interrupted) bool { return i.ID == r.Interrupt })
	})
	if err != nil {
		return nil, err
	}
	for _, ask := range asks {
		if left, err = th.ask(draft, left, node, key, w, writes, ask); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// ask adds the request of one interrupt of a task.
func (th *thread) ask(draft *snapshot.Draft, all []request, node string, key Key, w Write, writes pending, ask interrupted) ([]request, error) {
	r := request{Node: node, ID: key.ID, Task: w.Task, Interrupt: ask.ID, Resumed: writes.resumes(w.Task)}
	if at, task, err := th.holder(r); err != nil {
		return nil, err
	} else if task != "" && at.Key != key {
		r.Resumed = at.resumes(task)
	}
	if had, found := newest(all)[r.question()]; found && had.ID == key.ID {
		row, found, err := th.row(had)
		if err != nil || !found || row.Status == snapshot.HumanPending {
			return all, err
		}
		r.Resumed = max(r.Resumed, had.Resumed+1)
	}
	for {
		has, err := th.head.State().HumanRequests().Has(snapshot.Key(node, r.Iteration))
		if err != nil {
			return nil, err
		}
		if !has && !isTaken(all, node, r.Iteration) {
			break
		}
		r.Iteration++
	}
	row := snapshot.HumanRequest{
		NodeID: node, Iteration: r.Iteration, Attempt: 1, Kind: snapshot.HumanJSON, Status: snapshot.HumanPending,
		Prompt: promptOf(ask.Value), Form: json.RawMessage(anyForm), RequestedAtMs: draft.AtMs,
	}
	if ask.unreadable != "" {
		row.Prompt, row.Form = ask.unreadable, json.RawMessage(noForm)
	}
	draft.Mailbox = append(draft.Mailbox, snapshot.SetRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(row)))
	return append(all, r), nil
}

// holder returns the task that asks a request's interrupt, and the writes of its checkpoint: the innermost of all tasks that have the
// interrupt, and in one checkpoint the task that wrote it first. The value that answers reaches the others from there. If no task has the
// interrupt, the task is "".
func (th *thread) holder(r request) (at pending, task string, err error) {
	for _, in := range th.book.sorted {
		around := in.NS == "" && in.ID == r.ID || in.NS != "" && in.meta.Parents[""] == r.ID
		if r.Interrupt == "" || !around || !th.book.history.counts(in) || task != "" && len(in.NS) < len(at.NS) {
			continue
		}
		now, err := th.book.pending(in.key())
		if err != nil {
			return at, "", err
		}
		if first, err := th.book.firstAsking(now, r.Interrupt); err != nil {
			return at, "", err
		} else if first != "" {
			at, task = now, first
		}
	}
	return at, task, nil
}

// asking has the tasks by the interrupts that they wrote for a checkpoint, each list in the order of the writes.
type asking struct {
	read  int // the number of the checkpoint's writes that were read, of those in the book
	tasks map[string][]string
}

// firstAsking returns the task that was the first to write an interrupt of a checkpoint, of those that still have it, or "".
func (b *book) firstAsking(now pending, interrupt string) (string, error) {
	in := b.asked[now.Key]
	if in == nil {
		in = &asking{tasks: make(map[string][]string)}
		b.asked[now.Key] = in
	}
	for ; in.read < len(b.writes[now.Key]); in.read++ {
		then, err := b.pendingAt(now.Key, b.writes[now.Key][in.read].entry)
		if err != nil {
			return "", err
		}
		for _, w := range then.Writes {
			for _, i := range interruptsOf(w) {
				if !slices.Contains(in.tasks[i.ID], w.Task) {
					in.tasks[i.ID] = append(in.tasks[i.ID], w.Task)
				}
			}
		}
	}
	for _, task := range in.tasks[interrupt] {
		if now.asks(task, interrupt) {
			return task, nil
		}
	}
	return "", nil
}

// asks reports whether a task has a write with an interrupt.
func (p pending) asks(task, interrupt string) bool {
	return interrupt != "" && slices.ContainsFunc(p.Writes, func(w Write) bool {
		return w.Task == task && slices.ContainsFunc(interruptsOf(w), func(i interrupted) bool { return i.ID == interrupt })
	})
}

// interrupted is an interrupt as LangGraph writes it.
type interrupted struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`

	unreadable string // what people read in place of the value; "" if the value can be read
}

// interruptsOf returns the interrupts in a write: one, or a list. If the program's serializer hides them, they are one unreadable interrupt.
func interruptsOf(w Write) []interrupted {
	v := w.Value
	var one interrupted
	var list []interrupted
	switch {
	case w.Idx != interruptIdx:
		return nil
	case v.Type == typeJSON && json.Unmarshal(v.Data, &list) == nil:
		return list
	case v.Type == typeJSON && json.Unmarshal(v.Data, &one) == nil:
		return []interrupted{one}
	}
	return []interrupted{{unreadable: fmt.Sprintf("unreadable: the program's serializer made it, with the type %q; answer it in the program", v.Type)}}
}

// isTaken reports whether a request in a list has the name.
func isTaken(all []request, node string, iteration int) bool {
	return slices.ContainsFunc(all, func(had request) bool { return had.Node == node && had.Iteration == iteration })
}

// promptOf returns the prompt for the value of an interrupt: its text, or its JSON.
func promptOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return plain.Cut(strings.ToValidUTF8(text, "\ufffd"), maxPrompt)
}

// askedAll adds the requests of all tasks of a checkpoint that are interrupted and were not resumed.
func (th *thread) askedAll(draft *snapshot.Draft, all []request, node string, writes pending) (_ []request, err error) {
	for _, w := range writes.Writes {
		if w.Idx != interruptIdx || writes.has(w.Task, resumeIdx) {
			continue
		}
		if all, err = th.asked(draft, all, node, writes.Key, w, writes); err != nil {
			return nil, err
		}
	}
	return all, nil
}
