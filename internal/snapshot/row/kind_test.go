package row_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// box has a field of every type.
type box struct {
	Key      string
	Count    int
	Flag     bool
	Int      int64
	List     []string
	Maybe    *int64
	Name     *string
	Note     string
	Number   *int
	Object   objstore.ID
	Optional objstore.ID
	Raw      json.RawMessage
	Set      []string
	Table    string
	Text     string
	Yes      bool
}

var boxes = row.Kind[box]{
	Name: "box",
	Key: row.Key[box]{
		Of:     func(b *box) string { return b.Key },
		Split:  func(b *box, key string) error { b.Key = key; return nil },
		Fields: []row.Field[box]{row.Text("key", func(b *box) *string { return &b.Key })},
		Title:  func(b *box) string { return b.Key },
	},
	Fields: []row.Field[box]{
		row.Count("count", func(b *box) *int { return &b.Count }),
		row.Bool("flag", func(b *box) *bool { return &b.Flag }),
		row.Int("int", func(b *box) *int64 { return &b.Int }),
		row.OptionalList("list", func(b *box) *[]string { return &b.List }),
		row.OptionalInt("maybe", func(b *box) **int64 { return &b.Maybe }),
		row.NullText("name", func(b *box) **string { return &b.Name }),
		row.OptionalText("note", func(b *box) *string { return &b.Note }),
		row.NullInt("number", func(b *box) **int { return &b.Number }),
		row.ID("object", func(b *box) *objstore.ID { return &b.Object }),
		row.OptionalID("optional", func(b *box) *objstore.ID { return &b.Optional }),
		row.JSON("raw", func(b *box) *json.RawMessage { return &b.Raw }),
		row.Set("set", func(b *box) *[]string { return &b.Set }),
		row.EmptyIsNull("table", func(b *box) *string { return &b.Table }),
		row.Text("text", func(b *box) *string { return &b.Text }),
		row.True("yes", func(b *box) *bool { return &b.Yes }),
	},
	Check: func(box) error { return nil },
	Valid: func(value []byte) error {
		if !json.Valid(value) {
			return row.ErrNotCanonical
		}
		return nil
	},
}

const (
	someID    = "0123456789abcdef0123456789abcdef01234567"
	least     = `{"flag":false,"int":0,"name":null,"number":null,"object":"` + someID + `","raw":[1.0],"set":[],"table":null,"text":""}`
	mostStart = `{"count":2,"flag":true,"int":-3,"list":["b","a"],"maybe":0,"name":"","note":"n","number":0,"object":"` + someID + `"`
	most      = mostStart + `,"optional":"` + someID + `","raw":{ "a":1e0 },"set":["a","b"],"table":"t","text":"é\n\"","yes":true}`
)

func TestARowComesBackFromItsEncoding(t *testing.T) {
	t.Parallel()
	for _, value := range []string{least, most} {
		v, err := boxes.Decode(page.Row{Key: "k", Value: []byte(value)})
		require.NoError(t, err)
		assert.Equal(t, "k", v.Key)
		assert.Equal(t, value, string(boxes.Encode(v).Value))
	}
}

func TestOnlyTheCanonicalEncodingIsRead(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"count 0":              `{"count":0,` + least[1:],
		"empty list":           `{"flag":false,"int":0,"list":[],` + least[len(`{"flag":false,"int":0,`):],
		"a zero in front":      `{"flag":false,"int":00,` + least[len(`{"flag":false,"int":0,`):],
		"minus zero":           `{"flag":false,"int":-0,` + least[len(`{"flag":false,"int":0,`):],
		"too large":            `{"flag":false,"int":9007199254740992,` + least[len(`{"flag":false,"int":0,`):],
		"a comma in front":     `,` + least[1:],
		"a brace for a comma":  `{"flag":false{"int":0,` + least[len(`{"flag":false,"int":0,`):],
		"white space":          `{ ` + least[1:],
		"white space after":    least + " ",
		"two values":           least + least,
		"no brace at the end":  least[:len(least)-1],
		"another order":        `{"int":0,"flag":false,` + least[len(`{"flag":false,"int":0,`):],
		"false that is no yes": least[:len(least)-1] + `,"yes":false}`,
		"unsorted set":         least[:len(least)-len(`[],"table":null,"text":""}`)] + `["b","a"],"table":null,"text":""}`,
		"empty table":          least[:len(least)-len(`null,"text":""}`)] + `"","text":""}`,
		"a needless escape":    least[:len(least)-len(`""}`)] + `"\u0061"}`,
		"a control character":  least[:len(least)-len(`""}`)] + "\"\x01\"}",
		"an open string":       least[:len(least)-len(`"}`)],
		"an open escape":       least[:len(least)-len(`"}`)] + `\`,
	} {
		v, err := boxes.Decode(page.Row{Key: "k", Value: []byte(value)})
		assert.ErrorIs(t, err, objstore.ErrCorrupt, name)
		assert.Equal(t, box{}, v, name)
	}
}

func TestMembersComeInAnyOrderAndAgreeWithTheKey(t *testing.T) {
	t.Parallel()
	v, err := boxes.Parse("k", []byte(` { "text" : "x", "key": "k", "set": ["b", "a", "b"], "name": null }`))
	require.NoError(t, err)
	assert.Equal(t, box{Key: "k", Text: "x", Set: []string{"b", "a", "b"}}, v)
	v, err = boxes.Parse("", []byte(`{"key":"k"}`))
	require.NoError(t, err)
	assert.Equal(t, "k", v.Key)
	for value, message := range map[string]string{
		`{"key":"l"}`:       `box "k": key: differs from the key`,
		`{"z":1}`:           `box "k": z: unknown field`,
		`{"int":1,"int":1}`: `box "k": int: given twice`,
		`{"int":"1"}`:       `box "k": int: wrong JSON type: string`,
		`[]`:                `box "k": not a JSON object`,
	} {
		_, err := boxes.Parse("k", []byte(value))
		assert.EqualError(t, err, message)
	}
}

func FuzzKind(f *testing.F) {
	f.Add([]byte(least))
	f.Add([]byte(most))
	f.Fuzz(func(t *testing.T, value []byte) {
		if v, err := boxes.Decode(page.Row{Key: "k", Value: value}); err == nil {
			require.Equal(t, string(value), string(boxes.Encode(v).Value))
		}
		if !json.Valid(value) {
			return
		}
		if v, err := boxes.Parse("k", value); err == nil {
			require.True(t, json.Valid(boxes.Encode(v).Value))
		}
	})
}
