package langgraph

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// requestsFile is the file in ext/langgraph/ with the human requests for the interrupts of the newest checkpoint. An
// entry without the file has no such requests.
const requestsFile = "requests"

// nullTask is the task of the writes that belong to no task, such as the value of Command({resume}).
const nullTask = "00000000-0000-0000-0000-000000000000"

// resumeChannel is the channel of the values with which a task is resumed.
const resumeChannel = "__resume__"

// maxPrompt is the largest size of a prompt in bytes.
const maxPrompt = 4000

// anyForm is the form of a request that takes any JSON value, and noForm that of a request that only the program can answer.
const (
	anyForm = "{}"
	noForm  = `{"not":{},"description":"only the program can answer: its serializer hides the question"}`
)

// request is an interrupt that stands in the mailbox as a human request.
type request struct {
	Node      string `json:"node"`
	Iteration int    `json:"iteration"`
	ID        string `json:"id"` // of the checkpoint, in the namespace ""
	Task      string `json:"task"`
	Interrupt string `json:"interrupt,omitempty"` // LangGraph's id of the interrupt; "" if LangGraph gave none, or the value is unreadable
	Resumed   int    `json:"resumed"`             // the number of interrupts before this one of the task that asks
}

// question returns the text by which requests are the same question: the interrupt's id, or the task. LangGraph writes an interrupt for the
// task that asks, and again for each task around it.
func (r request) question() string { return cmp.Or(r.Interrupt, r.Task) }

// requests returns the interrupts that stand in the mailbox at the newest entry. Resets and undos change the rows of the mailbox and not
// the file. After one, the interrupts are in the file of the entry to which the run went, and newer ones in the newest entry's file.
func (th *thread) requests() ([]request, error) {
	if th.head == nil {
		return nil, nil
	}
	newest, err := th.requestsIn(th.head.Entry())
	earlier := th.book.history.now.requests
	if err != nil || len(earlier) == 0 {
		return newest, err
	}
	var all []request
	for i, at := range earlier {
		entry, err := th.read(at.entry)
		if err != nil {
			return nil, err
		}
		before, err := th.requestsIn(entry)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all = before
			continue
		}
		all = th.addRequests(all, before)
	}
	return th.addRequests(all, newest), nil
}

// addRequests returns all with the interrupts in more that belong to the latest checkpoint, unless all has an interrupt with the same row.
func (th *thread) addRequests(all, more []request) []request {
	latest := th.book.latest("")
	for _, r := range more {
		if latest != nil && r.ID == latest.ID && !isTaken(all, r.Node, r.Iteration) {
			all = append(all, r)
		}
	}
	return all
}

// Request returns the node and the iteration of the human request for an interrupt of a thread. The id is LangGraph's. Code:
// request_not_found.
func (t *Threads) Request(ctx context.Context, id, interrupt string) (node string, iteration int, err error) {
	err = t.use(ctx, id, func(th *thread) error {
		all, err := th.requests()
		r, found := newest(all)[interrupt]
		if err == nil && !found {
			err = fault.New(fault.RequestNotFound, "run %q has no open interrupt %q of LangGraph", id, interrupt).Hint("`git smithers inbox` lists the open questions")
		}
		node, iteration = r.Node, r.Iteration
		return timeline.Explain(err)
	})
	return node, iteration, err
}

// requestsIn returns the interrupts in the file of an entry that stand in the mailbox at the newest entry.
func (th *thread) requestsIn(entry *snapshot.Entry) ([]request, error) {
	data, err := entry.ExtFile(EngineName, requestsFile)
	if err != nil || data == nil {
		return nil, err
	}
	var all, left []request
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, corrupt(entry, requestsFile, err)
	}
	for _, r := range all {
		has, err := th.head.State().HumanRequests().Has(snapshot.Key(r.Node, r.Iteration))
		if err != nil {
			return nil, err
		}
		if has {
			left = append(left, r)
		}
	}
	return left, nil
}

// row returns the human request of an interrupt, and whether it is there.
func (th *thread) row(r request) (row snapshot.HumanRequest, found bool, err error) {
	key := snapshot.Key(r.Node, r.Iteration)
	value, found, err := th.head.State().HumanRequests().Get(key)
	if err == nil && found {
		row, err = snapshot.DecodeHumanRequest(page.Row{Key: key, Value: value})
	}
	return row, found, err
}

// setRequests puts the interrupts that stand in the mailbox into a draft.
func setRequests(draft *snapshot.Draft, all []request) {
	var data json.RawMessage
	if len(all) > 0 {
		data, _ = jsontext.Encode(all) // texts and numbers encode always
	}
	draft.Ext.Files[requestsFile] = data
}

// mail adds to the draft of writes what they change in the mailbox: an interrupt is a request, and a task that is resumed
// has an answer. Only the interrupts of the graph itself are requests: one of a subgraph is that of the task around it, too.
func (th *thread) mail(draft *snapshot.Draft, key Key, writes []Write, all pending) error {
	at := th.book.records[key]
	if at == nil || key.NS != "" {
		return nil // writes that come before their checkpoint are taken in with it
	}
	before, err := th.requests()
	if err != nil {
		return err
	}
	after := before
	for _, w := range writes {
		switch w.Idx {
		case resumeIdx:
			after, err = th.resumed(draft, after, key, w, all)
		case interruptIdx:
			var node string
			if node, err = th.nodeAfter(at); err == nil {
				after, err = th.asked(draft, after, node, key, w, all)
			}
		}
		if err != nil {
			return err
		}
	}
	if len(before) > 0 || len(after) > 0 {
		setRequests(draft, after)
	}
	return nil
}

// resumed takes in a value with which a task is resumed. The value of Command({resume}) comes for no task, and answers the only
// request that waits. If it is a map of ids, each value comes for an interrupt's id in place of a task. A task's own list then has the
// values of all its interrupts so far: their requests are over.
func (th *thread) resumed(draft *snapshot.Draft, all []request, key Key, w Write, writes pending) ([]request, error) {
	value, _ := w.Value.stored()
	ofTask, values := w.Task != nullTask, valuesIn(w)
	var left []request
	for _, r := range all {
		byID := r.Interrupt != "" && w.Task == r.Interrupt && len(values) > 0
		over := r.ID == key.ID && (byID || ofTask && (r.Task == w.Task || writes.asks(w.Task, r.Interrupt)) && r.Resumed < len(values))
		if !over {
			left = append(left, r)
		}
		if !over && (ofTask || len(newest(all)) > 1 || r.ID != key.ID) {
			continue
		}
		row, found, err := th.row(r)
		if err != nil {
			return nil, err
		}
		if !found || row.Status != snapshot.HumanPending {
			continue // it was answered before
		}
		answer := value
		if byID {
			answer = values[len(values)-1]
		} else if ofTask {
			answer = values[r.Resumed]
		}
		row.Status, row.Response, row.AnsweredAtMs = snapshot.HumanAnswered, answer, new(max(draft.AtMs, row.RequestedAtMs))
		draft.Mailbox = append(draft.Mailbox, snapshot.SetRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(row)))
	}
	return left, nil
}

// valuesIn returns the values with which a task is resumed, or nil if the write has no list that can be read.
func valuesIn(w Write) (values []json.RawMessage) {
	if w.Value.Type == typeJSON && json.Unmarshal(w.Value.Data, &values) != nil {
		return nil
	}
	return values
}

// newest returns the newest request of each question.
func newest(all []request) map[string]request {
	out := make(map[string]request)
	for _, r := range all {
		if had, found := out[r.question()]; !found || had.Resumed < r.Resumed {
			out[r.question()] = r
		}
	}
	return out
}

// resumes returns the number of values with which a task was resumed so far.
func (p pending) resumes(task string) int {
	for _, w := range p.Writes {
		if w.Task == task && w.Idx == resumeIdx {
			return len(valuesIn(w))
		}
	}
	return 0
}

// nodeAfter returns the name of the node that comes next after a checkpoint of the graph itself.
func (th *thread) nodeAfter(r *record) (string, error) {
	state, err := th.state(r)
	if err != nil {
		return "", err
	}
	rows := state.Outputs(channelsTable)
	var present []string
	for channel := range r.versions() {
		has, err := rows.Has(rowKey(channel))
		if err != nil {
			return "", err
		}
		if has {
			present = append(present, channel)
		}
	}
	return onlyNode(present), nil
}

// onlyNode returns the only node that comes next if the channels have values, or "task" if that are several or unknown.
func onlyNode(present []string) string {
	nodes, _ := next(present, false)
	if len(nodes) != 1 || nodes[0] == "" || len(nodes[0]) > longTable {
		return "task"
	}
	return nodes[0]
}

// mailOfPut adds to the draft of a put what it changes in the mailbox. The draft restores an older state, so it takes over the
// mailbox of the newest entry. A checkpoint of the graph itself ends the interrupts before it: what nobody has answered is
// cancelled. Its own writes can have come before it.
func (th *thread) mailOfPut(draft *snapshot.Draft, key Key, present []string) error {
	if th.head == nil {
		return nil
	}
	changes, err := th.mailboxSince(draft.Frame.Restore)
	if err != nil {
		return err
	}
	draft.Mailbox = changes
	if key.NS != "" {
		return nil
	}
	all, err := th.requests()
	if err != nil {
		return err
	}
	left, err := th.close(draft, all, func(r request) bool { return r.ID != key.ID }) // the same id: the checkpoint is put again
	if err != nil {
		return err
	}
	writes, err := th.book.pending(key)
	if err != nil {
		return err
	}
	if left, err = th.askedAll(draft, left, onlyNode(present), writes); err != nil {
		return err
	}
	if len(all) > 0 || len(left) > 0 {
		setRequests(draft, left)
	}
	if edit := statusAfter(writes, draft.AtMs); edit != nil {
		draft.Run = edit
	}
	return nil
}

// close cancels the requests that wait and are over, and returns the others.
func (th *thread) close(draft *snapshot.Draft, all []request, over func(request) bool) (left []request, err error) {
	for _, r := range all {
		if !over(r) {
			left = append(left, r)
			continue
		}
		row, found, err := th.row(r)
		if err != nil {
			return nil, err
		}
		if found && row.Status == snapshot.HumanPending {
			row.Status, row.AnsweredAtMs = snapshot.HumanCancelled, new(max(draft.AtMs, row.RequestedAtMs))
			draft.Mailbox = append(draft.Mailbox, snapshot.SetRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(row)))
		}
	}
	return left, nil
}

// mailOfCopy adds to the draft of the writes that a copy lacks what they change in the mailbox: the interrupts of its latest
// checkpoint are requests of its own.
func (th *thread) mailOfCopy(draft *snapshot.Draft, missing []pending) error {
	latest := th.book.latest("")
	for _, p := range missing {
		if latest == nil || p.Key != latest.key() {
			continue
		}
		all, err := th.requests()
		if err != nil {
			return err
		}
		node, err := th.nodeAfter(latest)
		if err != nil {
			return err
		}
		if all, err = th.askedAll(draft, all, node, p); err != nil {
			return err
		}
		setRequests(draft, all)
		draft.Run = statusAfter(p, draft.AtMs)
	}
	return nil
}

// mailboxSince returns the changes that make the mailbox of the newest entry out of that of an older state.
func (th *thread) mailboxSince(old *snapshot.State) ([]snapshot.Change, error) {
	now := th.head.State()
	var changes []snapshot.Change
	for _, c := range []struct {
		name        string
		before, now *page.Collection
	}{
		{snapshot.CollectionHumanRequests, old.HumanRequests(), now.HumanRequests()},
		{snapshot.CollectionApprovals, old.Approvals(), now.Approvals()},
		{snapshot.CollectionSignals, old.Signals(), now.Signals()},
		{snapshot.CollectionWaits, old.Waits(), now.Waits()},
	} {
		for d, err := range page.Diff(c.before, c.now) {
			if err != nil {
				return nil, err
			}
			if d.To == nil {
				changes = append(changes, snapshot.RemoveRow(c.name, d.Key))
				continue
			}
			set := snapshot.SetRow(c.name, page.Row{Key: d.Key, Value: d.To})
			set.Redacted = true // it is stored already
			changes = append(changes, set)
		}
	}
	return changes, nil
}

// answers returns the writes of a checkpoint with the values that people have answered in the mailbox: what Command({resume}) with a map
// of the interrupts' ids would bring. Only the task that asks gets the value: a value for no task would answer every question that waits.
func (th *thread) answers(key Key, writes []Write) ([]Write, error) {
	all, err := th.requests()
	if err != nil {
		return writes, err
	}
	p := pending{key, writes}
	tasks := newest(all)
	for _, r := range tasks {
		row, found, err := th.row(r)
		if err != nil {
			return nil, err
		}
		if !found || row.Status != snapshot.HumanAnswered {
			continue
		}
		at, task, err := th.holder(r)
		if err != nil {
			return nil, err
		}
		said := json.RawMessage(redact.Unescape(row.Response, redact.JSON)) // only the mailbox has escapes
		w := Write{Task: task, Idx: resumeIdx, Channel: resumeChannel, Value: Value{typeJSON, appended(writes, task, said)}}
		switch {
		case task != "" && (at.Key != key || at.resumes(task) > r.Resumed): // for another checkpoint, or in the list already
			continue
		case task != "":
		case key != Key{ID: r.ID}, r.Interrupt != "" && slices.ContainsFunc(writes, func(w Write) bool { return w.Idx == interruptIdx }): // another question
			continue
		case len(tasks) > 1:
			w.Task, w.Value.Data = r.Task, appended(writes, r.Task, said)
		default: // the task's number is unknown, and it is the only one
			w.Task, w.Value.Data = nullTask, said
		}
		p.add([]Write{w})
	}
	return p.Writes, nil
}

// appended returns the list of the values with which a task was resumed, and one more.
func appended(writes []Write, task string, value json.RawMessage) json.RawMessage {
	var values []json.RawMessage
	for _, w := range writes {
		if w.Task == task && w.Idx == resumeIdx {
			values = valuesIn(w)
		}
	}
	out, err := jsontext.Encode(append(values, value))
	if err != nil {
		return json.RawMessage("[" + string(value) + "]")
	}
	return out
}
