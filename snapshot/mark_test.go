package snapshot_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// marker marks aSecret.
type marker struct{ err error }

func (m marker) Marks(place string, text []byte) ([]snapshot.Mark, error) {
	if !bytes.Contains(text, []byte(aSecret)) {
		return nil, nil
	}
	return []snapshot.Mark{{Digest: "d1", Rule: "PASS", Place: place}}, m.err
}

// asItIs has a draft for each text that an entry must not change, by its place.
func asItIs() map[string]snapshot.Draft {
	text := []byte("is " + aSecret)
	return map[string]snapshot.Draft{
		"workflow/definition":                   {Workflow: &snapshot.Workflow{Definition: text}},
		"workflow/schemas/t.json":               {Workflow: &snapshot.Workflow{Definition: []byte("x"), Schemas: map[string]json.RawMessage{"t": quoted(string(text))}}},
		"ext/other/a/file":                      {Ext: &snapshot.ExtDraft{Engine: "other", Files: map[string][]byte{"a/file": text}}},
		"ext/other/rows key":                    {Ext: &snapshot.ExtDraft{Engine: "other", Rows: map[string][]page.Change{"rows": {{Key: "key", Value: quoted(string(text))}}}}},
		"ext/" + strings.Repeat("e", 196) + "…": {Ext: &snapshot.ExtDraft{Engine: strings.Repeat("e", 200), Files: map[string][]byte{"a": text}}},
	}
}

func TestWhatIsStoredAsItIsIsMarked(t *testing.T) {
	t.Parallel()
	for place, draft := range asItIs() {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			chain := start(t, snapshot.Draft{})
			first := chain.tip
			draft.Marker, draft.Redactor, draft.AtMs = marker{}, &redactor{}, someTime
			next := chain.append(t, draft)
			row, err := next.RunRow()
			require.NoError(t, err)
			assert.Equal(t, []string{"d1 PASS " + place}, row.Marks)
			read, err := snapshot.ReadEntry(chain.store, next.ID)
			require.NoError(t, err)
			again, err := read.RunRow()
			require.NoError(t, err)
			assert.Equal(t, row.Marks, again.Marks, "as another process reads them")

			row, err = chain.append(t, snapshot.Draft{Subject: "later", Marker: marker{}}).RunRow()
			require.NoError(t, err)
			assert.Len(t, row.Marks, 1, "later entries keep the mark")

			draft.Marker = marker{errors.New("refused")}
			_, err = snapshot.Append(chain.store, chain.frames, first, draft)
			assert.ErrorContains(t, err, "refused")
		})
	}
}

// An import takes nothing out, and marks every text.
func TestWithoutARedactorEveryTextIsMarked(t *testing.T) {
	t.Parallel()
	for name, c := range withSecrets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.draft.Marker = marker{}
			row, err := start(t, snapshot.Draft{}).append(t, c.draft).RunRow()
			require.NoError(t, err)
			assert.NotEmpty(t, row.Marks)
		})
	}
}

// manyMarks marks each text with marks of their own.
type manyMarks int

func (m manyMarks) Marks(place string, _ []byte) ([]snapshot.Mark, error) {
	var out []snapshot.Mark
	for i := range int(m) {
		out = append(out, snapshot.Mark{Digest: fmt.Sprintf("%03d", 500-i), Rule: "r", Place: place})
	}
	return out, nil
}

func TestARunHasABoundedNumberOfMarks(t *testing.T) {
	t.Parallel()
	chain := start(t, snapshot.Draft{})
	draft := snapshot.Draft{Workflow: &snapshot.Workflow{Definition: []byte("x")}}
	draft.Marker = manyMarks(2)
	chain.append(t, draft)
	draft.Marker = manyMarks(400)
	row, err := chain.append(t, draft).RunRow()
	require.NoError(t, err)
	assert.Len(t, row.Marks, 100)
	assert.Contains(t, row.Marks, "500 r workflow/definition", "the first marks stay")
	assert.IsIncreasing(t, row.Marks)
}

func TestParseMark(t *testing.T) {
	t.Parallel()
	m, ok := snapshot.ParseMark("0123 A_TOKEN outputs/a b c")
	assert.True(t, ok)
	assert.Equal(t, snapshot.Mark{Digest: "0123", Rule: "A_TOKEN", Place: "outputs/a b c"}, m)
	for _, text := range []string{"", "a", "a b", " a b", "a  b", "a b "} {
		_, ok := snapshot.ParseMark(text)
		assert.False(t, ok, text)
	}
}
