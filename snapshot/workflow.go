package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
)

// The names in a workflow's tree.
const (
	definitionName = "definition"
	schemasName    = "schemas"
	schemaSuffix   = ".json"
)

// Workflow is the definition with which a run was started: the bytes of the workflow's file, and the schemas of the
// workflow's output tables, byte for byte.
type Workflow struct {
	Definition []byte
	Schemas    map[string]json.RawMessage // output table -> JSON Schema
}

// Hash returns the workflow hash: a SHA-256 in lower-case hex, as docs/format.md defines it.
func (w *Workflow) Hash() string {
	h := sha256.New()
	add := func(name string, data []byte) {
		h.Write([]byte(name + " " + strconv.Itoa(len(data)) + "\n"))
		h.Write(data)
		h.Write([]byte{'\n'})
	}
	h.Write([]byte("smithers workflow 1\n"))
	add(definitionName, w.Definition)
	for _, f := range w.schemaFiles() {
		add(schemasName+"/"+f.name, f.schema)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// schemaFile is a schema with the name of its file in the tree.
type schemaFile struct {
	name   string
	schema json.RawMessage
}

// schemaFiles returns the schemas with the names of their files, sorted by name.
func (w *Workflow) schemaFiles() []schemaFile {
	files := make([]schemaFile, 0, len(w.Schemas))
	for table, schema := range w.Schemas {
		files = append(files, schemaFile{escape(table, plainTable) + schemaSuffix, schema})
	}
	slices.SortFunc(files, func(a, b schemaFile) int { return strings.Compare(a.name, b.name) })
	return files
}

// write adds the workflow's tree and the files in the tree to a writer, and returns the tree's id.
func (w *Workflow) write(to objstore.Writer) objstore.ID {
	entries := []objstore.TreeEntry{{
		Name: definitionName, Mode: objstore.ModeFile, ID: to.Add(objstore.Blob, w.Definition),
	}}
	if len(w.Schemas) > 0 {
		var schemas []objstore.TreeEntry
		for _, f := range w.schemaFiles() {
			schemas = append(schemas, objstore.TreeEntry{
				Name: f.name, Mode: objstore.ModeFile, ID: to.Add(objstore.Blob, f.schema),
			})
		}
		entries = append(entries, objstore.TreeEntry{
			Name: schemasName, Mode: objstore.ModeTree, ID: to.Add(objstore.Tree, objstore.EncodeTree(schemas)),
		})
	}
	return to.Add(objstore.Tree, objstore.EncodeTree(entries))
}

// ReadWorkflow reads the workflow in the tree with the given id; see [Entry.WorkflowID]. If the tree has no definition
// or an unexpected name, or a schema is invalid, the error wraps objstore.ErrCorrupt.
func ReadWorkflow(r objstore.Reader, id objstore.ID) (*Workflow, error) {
	entries, err := objstore.ReadTree(r, id)
	if err != nil {
		return nil, err
	}
	w := new(Workflow)
	found := false
	for _, e := range entries {
		switch {
		case e.Name == definitionName && e.Mode == objstore.ModeFile:
			w.Definition, err = objstore.GetBlob(r, e.ID, page.MaxValue)
			found = true
		case e.Name == schemasName && e.Mode == objstore.ModeTree:
			w.Schemas, err = readSchemas(r, e.ID)
		default:
			err = corrupt(id, "workflow: unexpected name %q in the tree", e.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, corrupt(id, "workflow: no definition")
	}
	return w, nil
}

// readSchemas reads the schemas of a workflow. The keys of the result are the names of the output tables. id is the id
// of the tree with the schemas. If write would not have written a name or a schema in the tree, the error wraps
// objstore.ErrCorrupt.
func readSchemas(r objstore.Reader, id objstore.ID) (map[string]json.RawMessage, error) {
	entries, err := objstore.ReadTree(r, id)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, corrupt(id, "schemas: empty tree")
	}
	schemas, left := make(map[string]json.RawMessage, len(entries)), maxSchemas
	for _, e := range entries {
		escaped, suffixed := strings.CutSuffix(e.Name, schemaSuffix)
		table, ok := unescape(escaped, plainTable)
		if !suffixed || !ok || checkTable(table) != nil || e.Mode != objstore.ModeFile {
			return nil, corrupt(id, "schemas: unexpected name %q in the tree", e.Name)
		}
		schema, err := objstore.GetBlob(r, e.ID, int64(min(left, page.MaxValue)))
		if err != nil {
			return nil, err
		}
		left -= len(schema)
		if err := (Limits{Depth: maxDepth}).CheckValue(schema); err != nil {
			return nil, corrupt(e.ID, "schema of %q: %v", table, err)
		}
		schemas[table] = schema
	}
	return schemas, nil
}
