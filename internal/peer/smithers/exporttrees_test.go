package smithers_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// assertTrees puts the rendered trees of all runs together, and compares their hashes.
func assertTrees(t *testing.T, path string) {
	t.Helper()
	run, tree := "", any(nil)
	for _, row := range query(t, path, `SELECT run_id, encoding, xml_json, xml_hash FROM _smithers_frames ORDER BY run_id, frame_no`) {
		if row[0] != run {
			run, tree = row[0], nil
			require.NotEqual(t, "delta", row[1], "the first frame of %s", run)
		}
		var read any
		require.NoError(t, json.Unmarshal([]byte(row[2]), &read))
		if row[1] == "delta" {
			for _, op := range as[[]any](t, as[map[string]any](t, read)["ops"]) {
				op := as[map[string]any](t, op)
				tree = applied(t, tree, as[[]any](t, op["path"]), op)
			}
		} else {
			tree = read
		}
		sum := sha256.Sum256(treeText(t, tree))
		assert.Equal(t, row[3], hex.EncodeToString(sum[:]))
	}
}

// as is what a value of JSON has to be.
func as[T any](t *testing.T, value any) T {
	t.Helper()
	is, ok := value.(T)
	require.True(t, ok, "%v", value)
	return is
}

// applied is a tree after one op of a delta.
func applied(t *testing.T, tree any, path []any, op map[string]any) any {
	t.Helper()
	if len(path) == 0 {
		return op["value"]
	}
	if list, ok := tree.([]any); ok {
		at := int(as[float64](t, path[0]))
		switch {
		case len(path) > 1 || op["op"] == "set":
			list[at] = applied(t, list[at], path[1:], op)
			return list
		case op["op"] == "insert":
			return slices.Insert(list, at, op["value"])
		}
		return slices.Delete(list, at, at+1)
	}
	object, name := as[map[string]any](t, tree), as[string](t, path[0])
	if len(path) == 1 && op["op"] == "remove" {
		delete(object, name)
	} else {
		object[name] = applied(t, object[name], path[1:], op)
	}
	return object
}

// treeText is the canonical form of a tree.
func treeText(t *testing.T, tree any) []byte {
	t.Helper()
	node, ok := tree.(map[string]any)
	switch {
	case !ok:
		return jsonText(tree)
	case node["kind"] == "text":
		return slices.Concat([]byte(`{"kind":"text","text":`), jsonText(node["text"]), []byte(`}`))
	}
	b := slices.Concat([]byte(`{"kind":"element","tag":`), jsonText(node["tag"]), []byte(`,"props":{`))
	props := as[map[string]any](t, node["props"])
	for i, name := range slices.Sorted(maps.Keys(props)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = slices.Concat(b, jsonText(name), []byte(`:`), jsonText(props[name]))
	}
	b = append(b, `},"children":[`...)
	for i, child := range as[[]any](t, node["children"]) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, treeText(t, child)...)
	}
	return append(b, ']', '}')
}

// jsonText is JSON as JavaScript writes it.
func jsonText(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
