package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/rendered"
)

// intake validates and converts all bytes from outside before Append hashes them: rows, values, events,
// rendered trees, workflows, files of other engines, lists of files, the run's row and subjects. It enforces
// the limits, and takes out secrets.
type intake struct {
	known   registry
	limits  Limits
	secrets secrets
}

// storedDraft is a Draft in its stored form, as intake returns it.
type storedDraft struct {
	state    stateChanges
	journal  map[string][]page.Change
	events   []Event // without Seq
	ext      *extEdit
	vcs      *VCS
	workflow *Workflow

	ids       []string // of the frame
	subject   string
	operation string
}

// stateChanges are the changes of a state in their stored form: rows by collection, outputs by table.
type stateChanges struct {
	rows    map[string][]page.Change
	outputs map[string][]page.Change
	input   *page.Change // nil leaves the input unchanged; a nil Value removes it
}

// draft validates d and returns d in the form in which an entry stores it. The result lacks the rendered tree and the
// run's row, which writeFrame and run convert. draft only normalizes the working copy: writeVCS validates it. draft
// does not modify d. If d cannot be stored, the error wraps ErrInvalid.
func (in intake) draft(d *Draft) (t storedDraft, err error) {
	for _, c := range d.Mailbox {
		if !in.known.has(inMailbox, c) {
			return storedDraft{}, c.invalid(errors.New("not a collection of the mailbox"))
		}
	}
	if t.state, err = in.state(d.StateChanges()); err != nil {
		return storedDraft{}, err
	}
	if t.journal, err = in.journal(d.Journal); err != nil {
		return storedDraft{}, err
	}
	if t.events, err = in.events(d.Events); err != nil {
		return storedDraft{}, err
	}
	if d.VCS != nil {
		t.vcs = d.VCS.clone()
		t.vcs.normalize()
	}
	if d.Ext != nil {
		if t.ext, err = in.ext(d.Ext); err == nil {
			err = in.markExt(d.Ext)
		}
		if err != nil {
			return storedDraft{}, err
		}
	}
	if d.Workflow != nil {
		t.workflow = d.Workflow
		if err = in.workflow(d.Workflow); err == nil {
			err = in.markWorkflow(d.Workflow)
		}
		if err != nil {
			return storedDraft{}, err
		}
	}
	if d.Frame != nil {
		if t.ids, err = in.frameIDs(d.Frame.IDs); err != nil {
			return storedDraft{}, err
		}
	}
	subject, err := in.secrets.text(d.Subject)
	if err != nil {
		return storedDraft{}, err
	}
	t.subject = cleanSubject(subject)
	t.operation = d.Operation
	if err := checkOperation(d.Operation); err != nil {
		return storedDraft{}, invalid("%w", err)
	}
	return t, nil
}

// run returns the edited row of a run. before is the row to edit, and stays unchanged. The texts of earlier, which may be nil, are stored
// text as those of before are. edit changes a copy of before, and run then gives VCSRoot its shortest spelling. If edit is nil, the result is an unchanged copy. run does not check
// the row, and does not set Frame, NextSeq and Secrets: writeRun and numberEntry do this later.
func (in intake) run(before Run, earlier *Run, edit func(*Run)) (Run, error) {
	run := before.clone()
	if edit == nil {
		return run, nil
	}
	edit(&run)
	run.VCSRoot = cleanRoot(run.VCSRoot)
	texts, had := []*string{&run.Error}, []string{before.Error}
	if p := run.Parent; p != nil {
		texts, had = append(texts, &p.Label, &p.Description), append(had, "", "")
		if q := before.Parent; q != nil {
			had[1], had[2] = q.Label, q.Description
		}
	}
	for i, text := range texts {
		if *text == had[i] || i == 0 && earlier != nil && *text == earlier.Error {
			continue // it is stored already
		}
		var err error
		if *text, err = in.secrets.text(*text); err != nil {
			return run, err
		}
	}
	return run, nil
}

// state converts changes of the state and of the mailbox to the form in which they are stored, and groups them by
// collection or output table. If several changes concern the input, the last change wins. If a change cannot be stored,
// or concerns a collection of the journal or an unknown collection, the error wraps ErrInvalid.
func (in intake) state(changes []Change) (stateChanges, error) {
	s := stateChanges{rows: make(map[string][]page.Change), outputs: make(map[string][]page.Change)}
	for _, c := range changes {
		row, err := in.row(c)
		if err != nil {
			return stateChanges{}, err
		}
		switch {
		case c.Collection == CollectionInput && row.Key != "":
			return stateChanges{}, invalid("input: key %q: the input has no key", row.Key)
		case c.Collection == CollectionInput:
			s.input = &row
		case in.known.has(inState, c), in.known.has(inMailbox, c):
			s.rows[c.Collection] = append(s.rows[c.Collection], row)
		default:
			table, err := c.table()
			if err != nil {
				return stateChanges{}, err
			}
			s.outputs[table] = append(s.outputs[table], row)
		}
	}
	return s, nil
}

// journal converts changes of the journal to the form in which they are stored, and groups them by collection. If a
// change cannot be stored, removes a row, or concerns a collection outside the journal, the error wraps ErrInvalid.
func (in intake) journal(changes []Change) (map[string][]page.Change, error) {
	rows := make(map[string][]page.Change)
	for _, c := range changes {
		if c.Op == OpRemove {
			return nil, c.invalid(errors.New("rows of the journal cannot be removed"))
		}
		row, err := in.row(c)
		if err != nil {
			return nil, err
		}
		if !in.known.has(inJournal, c) {
			return nil, c.invalid(errors.New("not a collection of the journal"))
		}
		rows[c.Collection] = append(rows[c.Collection], row)
	}
	return rows, nil
}

// row converts the change c to the form in which its collection stores it. If c cannot be stored, the error wraps
// ErrInvalid and names c.
func (in intake) row(c Change) (page.Change, error) {
	row, err := in.encode(c)
	if err == nil {
		err = in.limits.CheckKey(row.Key)
	}
	if err != nil {
		return page.Change{}, c.invalid(err)
	}
	return page.Change(row), nil
}

// encode returns the row that the change c sets, in the form in which the collection of c stores it. For a removal, the
// row has only the key. encode returns an error in these cases: the op is unknown, a removal has a value, a set has no
// value, or the row cannot be stored. For an output, it checks only the key, the size and the nesting, because
// Collection.Edit checks the JSON later.
func (in intake) encode(c Change) (page.Row, error) {
	switch {
	case c.Op == OpRemove && c.Value != nil:
		return page.Row{}, errors.New("value: set, but the change is a removal")
	case c.Op == OpRemove:
		return page.Row{Key: c.Key}, nil
	case c.Op != OpSet:
		return page.Row{}, fmt.Errorf("op: unknown op %q, the ops are %q and %q", c.Op, OpSet, OpRemove)
	case c.Value == nil:
		return page.Row{}, errors.New("value: missing")
	case c.Collection == CollectionInput:
		if err := in.limits.CheckValue(c.Value); err != nil {
			return page.Row{}, err
		}
		return in.secrets.value(c.Collection, page.Row{Key: c.Key, Value: c.Value}, c)
	}
	if of := in.known.named(c.Collection); of != nil {
		row, err := in.registered(of, c)
		switch {
		case err != nil:
			return row, err
		case of.isText:
			return in.secrets.value(of.name, row, c)
		}
		return in.secrets.members(of, row, c.Redacted)
	}
	if _, _, err := SplitKey(c.Key); err != nil {
		return page.Row{}, err
	}
	if err := in.limits.CheckSize(c.Value); err != nil {
		return page.Row{}, err
	}
	return in.secrets.value(c.Collection, page.Row{Key: c.Key, Value: c.Value}, c)
}

// registered returns the row that the change c sets, in the form in which the collection of c stores it. of describes
// the collection, and c must set a row. If the row cannot be stored, registered returns an error.
func (in intake) registered(of *collection, c Change) (page.Row, error) {
	if of.name == CollectionNodes { // the fast path: most nodes already have their stored form
		row := page.Row{Key: c.Key, Value: c.Value}
		if _, err := nodeKind.Read(row); err == nil {
			return row, nil
		}
	}
	if err := in.limits.CheckValue(c.Value); err != nil {
		return page.Row{}, err
	}
	if stored := (page.Row{Key: c.Key, Value: c.Value}); of.carry != nil && of.decode(stored) == nil {
		return stored, nil // the row may have members that only a newer version can parse
	}
	return of.encode(c.Key, c.Value)
}

// events returns copies of events in the form in which they are stored, with 0 as Seq: writeEvents numbers them. If
// an event cannot be stored, the error wraps ErrInvalid and names the index of the event.
func (in intake) events(events []Event) ([]Event, error) {
	var out []Event
	for i, e := range events {
		e.Seq = 0
		normal, err := e.normalize(in.limits)
		if err != nil {
			return nil, invalid("event %d: %w", i, err)
		}
		if normal.Payload, err = in.secrets.json(normal.Payload); err != nil {
			return nil, err
		}
		out = append(out, normal)
	}
	return out, nil
}

// rendered parses tree, a rendered tree, without its secrets. For the tree null, it returns nil. If tree is not a rendered tree, or
// exceeds the limits, the error wraps ErrInvalid.
func (in intake) rendered(tree json.RawMessage) (*rendered.Tree, error) {
	if err := in.limits.CheckValue(tree); err != nil {
		return nil, fmt.Errorf("rendered tree: %w", err)
	}
	tree, err := in.secrets.json(tree)
	if err != nil {
		return nil, err
	}
	parsed, err := rendered.Parse(tree)
	if err != nil {
		return nil, invalid("rendered tree: %w", err)
	}
	return parsed, nil
}

// ext converts the changes in d to edits, one for each file, collection and folder. The result is the edit of the
// folder ext/, which has the other edits as children. If a name or a value cannot be stored, the error wraps
// ErrInvalid.
func (in intake) ext(d *ExtDraft) (*extEdit, error) {
	root := new(extEdit)
	for name, data := range d.Files {
		if len(data) > page.MaxValue {
			return nil, fmt.Errorf("%w: ext/%s/%s has %d bytes, the maximum is %d", ErrLimit, d.Engine, name, len(data), page.MaxValue)
		}
		x, err := root.at(extPath(d.Engine, name))
		if err != nil {
			return nil, err
		}
		x.isFile, x.file = true, data
	}
	for name, rows := range d.Rows {
		for _, row := range rows {
			if row.Value == nil {
				continue
			}
			if err := in.limits.CheckValue(row.Value); err != nil {
				return nil, fmt.Errorf("ext/%s/%s: %q: %w", d.Engine, name, row.Key, err)
			}
		}
		x, err := root.at(extPath(d.Engine, name))
		if err != nil {
			return nil, err
		}
		x.rows = append(x.rows, rows...)
	}
	return root, nil
}

// workflow returns an error that wraps ErrInvalid if w cannot be stored: the definition, the name of a table, or a
// schema is invalid or too large.
func (in intake) workflow(w *Workflow) error {
	if len(w.Definition) > page.MaxValue {
		return fmt.Errorf("%w: the workflow definition has %d bytes, the maximum is %d", ErrLimit, len(w.Definition), page.MaxValue)
	}
	left := maxSchemas
	for _, table := range slices.Sorted(maps.Keys(w.Schemas)) {
		if err := checkTable(table); err != nil {
			return invalid("workflow: %w", err)
		}
		if err := in.limits.CheckValue(w.Schemas[table]); err != nil {
			return fmt.Errorf("workflow: schema of %q: %w", table, err)
		}
		if left -= len(w.Schemas[table]); left < 0 {
			return fmt.Errorf("%w: workflow: the schemas have more than %d bytes", ErrLimit, maxSchemas)
		}
	}
	return nil
}

// markWorkflow marks the secrets of a workflow, whose bytes must not change.
func (in intake) markWorkflow(w *Workflow) error {
	const place = workflowName + "/"
	if err := in.secrets.stored.look(place+definitionName, w.Definition); err != nil {
		return err
	}
	for _, f := range w.schemaFiles() {
		if err := in.secrets.stored.look(place+schemasName+"/"+f.name, f.schema); err != nil {
			return err
		}
	}
	return nil
}

// markExt marks the secrets in the data of another engine, whose bytes must not change.
func (in intake) markExt(d *ExtDraft) error {
	place := extName + "/" + d.Engine + "/"
	for name, data := range d.Files {
		if err := in.secrets.stored.look(place+name, data); err != nil {
			return err
		}
	}
	for name, rows := range d.Rows {
		for _, row := range rows {
			if err := in.secrets.stored.look(place+name+" "+row.Key, row.Value); err != nil {
				return err
			}
		}
	}
	return nil
}
