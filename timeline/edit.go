package timeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An Edit changes the output of a finished node in a fork: it sets the value at a path, or removes the value.
type Edit struct {
	// Path is "outputs", the task, and the names and indexes that lead to the value in the task's output: outputs.plan.steps[0].title. A name with one of
	// the characters . = [ ] stands in brackets and quotes: outputs["test.1.25"].ok. The task is a node's id, which means its newest finished iteration, or
	// "nodeId::iteration".
	Path  string
	Value json.RawMessage // a JSON value; nil removes the value at Path
}

// editedOutput is the output of a node with edits.
type editedOutput struct {
	node   snapshot.Node
	paths  []string        // of its edits
	steps  []string        // of the paths
	stored []byte          // as the history has it
	whole  []byte          // with its secrets
	kept   []snapshot.Kept // the parts of stored that no edit has changed
}

// key returns the key of the node.
func (o *editedOutput) key() string { return snapshot.Key(o.node.NodeID, o.node.Iteration) }

// edit sets j.edited to the outputs that the edits of the request change, and calls req.CheckOutput with each. Codes: invalid_input, node_not_found,
// secret_missing, and those of CheckOutput.
func (j *forkJob) edit(state *snapshot.State, reveal snapshot.Reveal) error {
	for _, e := range j.req.Edits {
		path, rest, err := jsontext.ParsePath(e.Path)
		if err == nil && (rest != "" || len(path) < 2 || path[0].Name != "outputs" || path[1].Index >= 0) {
			err = errors.New("it must begin with outputs and the id of a task")
		}
		if err != nil {
			return badEdit("%q is not the path of a result: %w", e.Path, err).Hint(`type a path such as outputs.plan.n, outputs.plan.steps[0].title or outputs["test.1.25"].ok`)
		}
		n, err := editedNode(state, e.Path[:path[1].End], path[1].Name)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(j.edited, func(o *editedOutput) bool { return o.node.NodeID == n.NodeID && o.node.Iteration == n.Iteration })
		if i < 0 {
			o := &editedOutput{node: n}
			if o.stored, _, err = state.Outputs(n.OutputTable).Get(o.key()); err == nil && o.stored == nil {
				err = badEdit("task %s has no output", n.NodeID)
			}
			if err == nil {
				o.whole, err = reveal(snapshot.Place{Collection: snapshot.OutputCollection(n.OutputTable), Key: o.key()}, o.stored)
			}
			if err != nil {
				return err
			}
			o.kept = []snapshot.Kept{{Start: 0, End: len(o.stored), Was: 0}}
			i, j.edited = len(j.edited), append(j.edited, o)
		}
		if err := j.edited[i].edit(e, path); err != nil {
			return err
		}
	}
	for _, o := range j.edited {
		if j.req.CheckOutput == nil {
			break
		}
		if err := j.req.CheckOutput(o.node, o.whole); err != nil {
			return err
		}
	}
	return nil
}

// badEdit returns an error about an edit that cannot be made.
func badEdit(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidInput, format, args...)
}

// editedNode returns the finished node that a name in the path of an Edit means. at is the path up to the name. Codes: node_not_found, invalid_input.
func editedNode(state *snapshot.State, at, name string) (newest snapshot.Node, err error) {
	var found []snapshot.Node
	var ids []string
	meant := "" // a node that the name may mean
	for n, err := range state.AllNodes() {
		task, _ := snapshot.SplitScope(n.NodeID)
		if err != nil {
			return n, err
		} else if key := snapshot.Key(n.NodeID, n.Iteration); key == name || task == name || n.NodeID == name {
			found = append(found, n)
		} else if n.OutputTable == name || strings.HasPrefix(task, name+".") {
			meant = task
		}
		ids = append(ids, task)
	}
	for i, n := range found {
		if i > 0 && n.NodeID != newest.NodeID {
			return n, badEdit("%s may be the result of %s or of %s", at, newest.NodeID, n.NodeID).Hint("name one of them, for example %s", wordOf("outputs", snapshot.Key(n.NodeID, n.Iteration)))
		}
		if i == 0 || n.State == snapshot.NodeFinished && (newest.State != snapshot.NodeFinished || n.Iteration > newest.Iteration) {
			newest = n
		}
	}
	switch {
	case len(found) == 0:
		missing := fault.New(fault.NodeNotFound, "%s: no task is called %q", at, name)
		near, _ := plain.Nearest(name, ids)
		if meant = cmp.Or(meant, near); meant != "" {
			missing = missing.Hint("did you mean %s?", wordOf("outputs", meant))
		}
		return newest, missing
	case newest.State != snapshot.NodeFinished:
		none := badEdit("%s: task %s has no result: it is %s", at, newest.NodeID, newest.State)
		if newest.State == snapshot.NodeSkipped {
			return newest, none.Hint("edit the result that its condition reads, and the task runs")
		}
		return newest, none.Hint("fork a later frame, in which the task has finished")
	}
	return newest, nil
}

// wordOf returns the path of name in the value at a path, as a word for shells: the name may be a stranger's.
func wordOf(at, name string) string {
	if quoted, err := jsontext.Encode(name); err == nil && (name == "" || strings.ContainsAny(name, ".[]=")) {
		return fault.Word(at + "[" + string(quoted) + "]")
	}
	return fault.Word(at + "." + name)
}

// edit makes an edit. path is the path of e.
func (o *editedOutput) edit(e Edit, path jsontext.Path) error {
	in, list := path[2:], make([]string, len(path)-2)
	for i, step := range in {
		list[i] = fmt.Sprintf("%q %d", step.Name, step.Index)
	}
	steps := strings.Join(list, " ")
	switch {
	case slices.Contains(o.steps, steps):
		return badEdit("%s is given twice", e.Path).Hint("give one --set or --unset for each path")
	case e.Value != nil && !jsontext.Valid(e.Value):
		return badEdit("%s: the value is not JSON", e.Path)
	case e.Value == nil && len(in) == 0:
		return badEdit("%s cannot be removed: a finished task keeps a result", e.Path).Hint("--node %s resets the task, so that it runs again", fault.Word(o.node.NodeID))
	}
	o.paths, o.steps = append(o.paths, e.Path), append(o.steps, steps)
	edit, wrong := in.Edit(o.stored, e.Value)
	if wrong != nil {
		at, name := e.Path[:path[1+wrong.Depth].End], in[wrong.Depth].Name
		bad := badEdit("%s %s", at, wrong.Why)
		near, ok := plain.Nearest(name, wrong.Names)
		switch {
		case ok && !wrong.Appends:
			return bad.Hint("did you mean %s?", wordOf(at, near))
		case ok && len(name) > 3: // rather a mistyped name than a new one
			return bad.Hint("did you mean %s?", wordOf(at, near)).Hint("to add the member %s, set %s as a whole", name, at)
		case !wrong.Appends && len(wrong.Names) > 0:
			return bad.Hint("its members are %s", plain.Cut(strings.Join(wrong.Names, ", "), 200))
		case !wrong.Appends:
			return bad
		}
	}
	kept, moved := []snapshot.Kept{}, len(edit.New)-(edit.End-edit.Start)
	for _, k := range o.kept {
		if end := min(k.End, edit.Start); k.Start < end {
			kept = append(kept, snapshot.Kept{Start: k.Start, End: end, Was: k.Was})
		}
		if start := max(k.Start, edit.End); start < k.End {
			kept = append(kept, snapshot.Kept{Start: start + moved, End: k.End + moved, Was: k.Was + start - k.Start})
		}
	}
	o.stored, o.kept = edit.Apply(o.stored), kept
	edit, _ = in.Edit(o.whole, e.Value) // the same members and elements, with their secrets
	o.whole = edit.Apply(o.whole)
	return nil
}

// dependents returns the changes of a state that reset the nodes that need a node with an edited output.
func (j *forkJob) dependents(state *snapshot.State) ([]snapshot.Change, error) {
	keys := make([]string, len(j.edited))
	for i, o := range j.edited {
		keys[i] = o.key()
	}
	return reset.Dependents(state, keys)
}

// stay returns an error if a node with an edited output is not finished in a state. It returns no changes.
func (j *forkJob) stay(state *snapshot.State) ([]snapshot.Change, error) {
	for _, o := range j.edited {
		value, ok, err := state.Nodes().Get(o.key())
		if err != nil {
			return nil, err
		}
		n, err := snapshot.DecodeNode(page.Row{Key: o.key(), Value: value})
		if !ok || err != nil || n.State != snapshot.NodeFinished {
			return nil, badEdit("the edited result of %s would be lost: the fork resets or removes this node", o.key()).
				Hint("do not reset the node or, in a loop, edit only the earlier iteration")
		}
	}
	return nil, nil
}

// editsInWords returns a clause with the first paths of edits, or "".
func editsInWords(edits []Edit) string {
	words := make([]string, len(edits))
	for i, e := range edits {
		words[i] = "sets " + e.Path
		if e.Value == nil {
			words[i] = "removes " + e.Path
		}
	}
	return plain.Cut(strings.Join(words, ", "), 200)
}

// editEvents returns an event OutputEdited for each node with an edited output. id is the child's id.
func (j *forkJob) editEvents(id string, at int64) (events []snapshot.Event) {
	for _, o := range j.edited {
		events = append(events, NewEvent("OutputEdited", at, struct {
			RunID     string   `json:"runId"`
			NodeID    string   `json:"nodeId"`
			Iteration int      `json:"iteration"`
			Paths     []string `json:"paths"`
		}{id, o.node.NodeID, o.node.Iteration, o.paths}))
	}
	return events
}
