package dbrun

import (
	"encoding/json"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Imported returns the state that the tables say of a run without snapshots: nodes, loops, outputs and input. Rows that describe no state give an
// empty one.
func (p *Run) Imported(limits snapshot.Limits) snapshot.Whole {
	outputs, input := make(map[string][]map[string]any), []map[string]any(nil)
	for table, rows := range p.Rows {
		objects := objectsOf(rows)
		switch {
		case table == "input":
			input = objects
		case len(objects) > 0 && objects[0]["nodeId"] != nil && !strings.HasPrefix(table, "_smithers"):
			outputs[table] = objects
		}
	}
	var texts [4]string
	for i, value := range []any{objectsOf(p.Rows["_smithers_nodes"]), outputs, objectsOf(p.Rows["_smithers_ralph"]), append(input, map[string]any{})[0]} {
		text, err := jsontext.Encode(value)
		if err != nil {
			return snapshot.Whole{}
		}
		texts[i] = string(text)
	}
	w, err := contents.Read(source.Contents{Nodes: texts[0], Outputs: texts[1], Ralph: texts[2], Input: texts[3]}, "", limits)
	if err != nil {
		return snapshot.Whole{}
	}
	if len(input) == 0 {
		w.Input = nil
	}
	p.PlaceByTime(&w, tables.Never)
	return w
}

// objectsOf returns rows as the objects that Smithers writes for them: without the run, NULL and blobs, and with the names of columns in camel case.
func objectsOf(rows []source.Row) []map[string]any {
	objects := []map[string]any{}
	for _, row := range rows {
		object := make(map[string]any)
		for column, v := range row {
			words := strings.Split(column, "_")
			for i, word := range words[1:] {
				words[i+1] = strings.ToUpper(word[:min(1, len(word))]) + word[min(1, len(word)):]
			}
			name := strings.Join(words, "")
			switch {
			case column == "run_id":
			case v.Kind == source.Int:
				object[name] = v.Int
			case v.Kind == source.Real:
				object[name] = v.Real
			case v.Kind == source.Text && strings.ContainsAny(v.Bytes[:min(1, len(v.Bytes))], "{[") && json.Valid([]byte(v.Bytes)):
				object[name] = json.RawMessage(v.Bytes)
			case v.Kind == source.Text:
				object[name] = v.Bytes
			}
		}
		objects = append(objects, object)
	}
	return objects
}
