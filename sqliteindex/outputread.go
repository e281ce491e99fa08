package sqliteindex

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// declaration is what the definitions of a run say of the outputs of one schema key.
type declaration struct{ Key, Workflow, Columns string }

// outputDelta is a changed output. A nil value means that the output was removed.
type outputDelta struct {
	NodeID    string
	Iteration int
	Value     []byte
}

// readOutputs reads the details that have no collection of the registry: the definitions, the input and the outputs. Of a
// schema key whose declaration is as it was at the indexed entry, it reads the outputs that differ, and of any other
// schema key all outputs.
func (d *reader) readOutputs(indexed tip) error {
	workflows := d.known.sorted()
	d.add("_index_details", d.run.ID, d.known.text())
	before, after := snapshot.EmptyState(), (*snapshot.State)(nil)
	then, err := map[string]declaration(nil), error(nil)
	if d.from != nil {
		before, then, err = d.declarations(d.from, indexed.Workflows)
	}
	if err == nil {
		after, d.declared, err = d.declarations(d.head, workflows)
	}
	if err != nil {
		return err
	}
	if err := d.readInput(before, after); err != nil {
		return err
	}
	tables := slices.Concat(before.Tables(), after.Tables())
	slices.Sort(tables)
	d.outputs = make(map[string][]outputDelta)
	for _, key := range slices.Compact(tables) {
		old := before.Outputs(key)
		if then[key] != d.declared[key] {
			old = snapshot.EmptyState().Outputs(key)
		}
		if err := d.readTable(key, old, after.Outputs(key)); err != nil {
			return err
		}
	}
	return nil
}

// declarations returns the state of an entry, and the declarations of its output tables by the given definitions.
func (d *reader) declarations(e *snapshot.Entry, workflows []objstore.ID) (*snapshot.State, map[string]declaration, error) {
	run, err := e.RunRow()
	if err != nil {
		return nil, nil, err
	}
	state, err := e.State()
	if err != nil {
		return nil, nil, err
	}
	lists, err := d.schemas.Declared(d.r, workflows, e, state)
	if err != nil {
		return nil, nil, err
	}
	declared := make(map[string]declaration, len(lists))
	for key, list := range lists {
		text, err := list.Text()
		if err != nil {
			return nil, nil, err
		}
		declared[key] = declaration{key, run.Workflow, text}
	}
	return state, declared, nil
}

// readInput adds the input if it differs between two states.
func (d *reader) readInput(before, after *snapshot.State) error {
	if before.InputID() == after.InputID() {
		return nil
	}
	text, err := after.Input()
	if err != nil {
		return err
	}
	if text == nil {
		d.gone = append(d.gone, rowChange{"input", []any{d.run.ID}})
		return nil
	}
	d.size += len(text) / longText
	d.add("input", d.run.ID, string(text))
	return nil
}

// readTable adds the outputs that differ between two versions of an output table. If a key is invalid, the error wraps
// objstore.ErrCorrupt.
func (d *reader) readTable(key string, before, after *page.Collection) error {
	for delta, err := range page.Diff(before, after) {
		if err != nil {
			return err
		}
		nodeID, iteration, err := snapshot.SplitKey(delta.Key)
		if err != nil {
			return malformed(objstore.ID{}, "output: "+err.Error())
		}
		d.outputs[key] = append(d.outputs[key], outputDelta{nodeID, iteration, delta.To})
		d.size += 1 + len(delta.To)/longText
	}
	return nil
}
