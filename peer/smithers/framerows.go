package smithers

import (
	"github.com/git-smithers/git-smithers/internal/smithersdb"
)

// The xml_json of a frame whose tree is the one before, and how many frames apart trees are written whole.
const (
	sameTree  = `{"version":1,"ops":[]}`
	treeEvery = 50
)

// predictSnapshot is the row of a frame in _smithers_snapshots, without its contents; before is that of
// the frame before it, nil for none.
func predictSnapshot(f frameFacts, before smithersdb.Row) smithersdb.Row {
	return smithersdb.Row{
		"frame_no": intValue(f.PeerNo), "created_at_ms": intValue(f.AtMs), "content_hash": textValue(f.ContentHash),
		"vcs_pointer": before["vcs_pointer"],
	}
}

// predictFrame is the row of a frame in _smithers_frames. before is that of the frame before it, and
// treeBefore its rendered tree; nil and "" for none.
func predictFrame(f frameFacts, before smithersdb.Row, treeBefore string) smithersdb.Row {
	row := smithersdb.Row{
		"frame_no": intValue(f.PeerNo), "created_at_ms": intValue(f.AtMs), "xml_hash": optionalText(f.XMLHash),
		"mounted_task_ids_json": before["mounted_task_ids_json"], "task_index_json": before["task_index_json"], "note": before["note"],
		"encoding": textValue(smithersdb.DeltaFrame),
	}
	switch {
	case before == nil || f.PeerNo%treeEvery == 0:
		row["encoding"], row["xml_json"] = textValue(smithersdb.KeyFrame), textValue(f.Tree)
	case f.Tree == treeBefore:
		row["xml_json"] = textValue(sameTree)
	}
	return row
}

// contentColumns are those of _smithers_snapshots that a snapshot's layout decides on.
func contentColumn(name string) bool {
	switch name {
	case "nodes_json", "outputs_json", "ralph_json", "input_json":
		return true
	}
	return false
}

// withoutContents is the table of snapshots without the columns of JSON.
func withoutContents(t smithersdb.Table) smithersdb.Table {
	var columns []smithersdb.Column
	for _, c := range t.Columns {
		if !contentColumn(c.Name) {
			columns = append(columns, c)
		}
	}
	t.Columns = columns
	return t
}

// oneOverride is what leads from a predicted row to the actual one (nil for none): nil for nothing.
func oneOverride(table smithersdb.Table, predicted, actual smithersdb.Row, at root) ([]byte, error) {
	rows := []smithersdb.Row{actual}
	if actual == nil {
		rows = nil
	}
	over, err := overridesOf(table, []smithersdb.Row{predicted}, rows, at)
	if err != nil || len(over) == 0 {
		return nil, err
	}
	return []byte(over[0].Value), nil
}

// oneRow is the inverse of oneOverride; nil for none.
func oneRow(table smithersdb.Table, predicted smithersdb.Row, over []byte, run string, at root) (smithersdb.Row, error) {
	var all []override
	if over != nil {
		keyed := keyRows(table, []smithersdb.Row{predicted})
		all = []override{{Key: keyed[0].key, Value: string(over)}}
	}
	rows, err := restoreRows(table, []smithersdb.Row{predicted}, all, run, at)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}
