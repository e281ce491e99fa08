package row_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// crate has an object with members of its own.
type crate struct {
	Inner *inner
	Name  string
	Raw   json.RawMessage
	Yes   *bool
	More  row.CarriedMembers
}

type inner struct{ N int }

// crates returns the kind of crates, which carries unknown members if it is open.
func crates(open bool) *row.Kind[crate] {
	k := &row.Kind[crate]{
		Name: "crate",
		Key:  row.Key[crate]{Of: func(*crate) string { return "k" }, Split: func(*crate, string) error { return nil }},
		Fields: []row.Field[crate]{
			row.Object("inner", func(c *crate) **inner { return &c.Inner }, []row.Field[inner]{row.Int("n", func(i *inner) *int { return &i.N })}),
			row.Text("name", func(c *crate) *string { return &c.Name }),
			row.OptionalJSON("raw", func(c *crate) *json.RawMessage { return &c.Raw }),
			row.OptionalBool("yes", func(c *crate) **bool { return &c.Yes }),
		},
		Check: func(c crate) error {
			if c.Name == "bad" {
				return errors.New("name: bad")
			}
			return nil
		},
		Valid: func(value []byte) error {
			if !json.Valid(value) {
				return row.ErrNotCanonical
			}
			return nil
		},
	}
	if open {
		k.Carried = func(c *crate) *row.CarriedMembers { return &c.More }
	}
	return k
}

func crateRow(value string) page.Row { return page.Row{Key: "k", Value: []byte(value)} }

// unknownMembers has rows that are canonical but for members that a crate does not have.
var unknownMembers = []string{
	`{"a":0,"name":"n"}`,
	`{"inner":{"n":1},"m":{"a":[],"b":{}},"name":"n"}`,
	`{"name":"n","nameAgain":"\n","raw":[1.0, 2],"x":[true,null,"é",-1],"yes":false}`,
	`{"name":"n","raw":null,"yes":true,"z":null}`,
	"{\"name\":\"n\",\"z\":{\"\U0001f600\":1,\"\uffff\":2},\"\U0001f600\":1,\"\uffff\":2}",
}

func TestAnOpenKindCarriesUnknownMembers(t *testing.T) {
	t.Parallel()
	open := crates(true)
	for _, value := range unknownMembers {
		v, err := open.Decode(crateRow(value))
		require.NoError(t, err, value)
		assert.NotEmpty(t, v.More, value)
		assert.Equal(t, value, string(open.Encode(v).Value))
		v.Name, v.Inner = "other", &inner{N: 2}
		again, err := open.Decode(open.Encode(v))
		require.NoError(t, err, "the members keep their places when the row changes")
		assert.Equal(t, v, again)
	}
	_, err := open.Decode(crateRow(`{"a":0,"name":"bad"}`))
	assert.ErrorIs(t, err, objstore.ErrCorrupt, "what is known is checked")
}

func TestCarriedMembersOutliveEveryChange(t *testing.T) {
	t.Parallel()
	values := rapid.SampledFrom([]string{`0`, `-7`, `"é\n"`, `null`, `true`, `[]`, `[1,{"a":{}}]`, `{"a":"b","c":[null]}`})
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOfN(rapid.StringMatching(`[a-zA-Z]{1,5}`), values, 0, 8).Draw(t, "members")
		var v crate
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if name != "name" && name != "inner" && name != "raw" && name != "yes" {
				v.More = append(v.More, row.Member{Name: name, Value: json.RawMessage(members[name])})
			}
		}
		for range 3 {
			v.Name = rapid.StringMatching(`[ -~]{1,4}`).Draw(t, "name") + "."
			if rapid.Bool().Draw(t, "yes") {
				v.Yes, v.Inner = new(true), &inner{N: 3}
			}
			stored := crates(true).Encode(v)
			again, err := crates(true).Decode(stored)
			require.NoError(t, err)
			require.Equal(t, v, again)
			require.True(t, json.Valid(stored.Value))
			v = again
		}
	})
}

func TestAClosedKindNeedsANewerVersionForUnknownMembers(t *testing.T) {
	t.Parallel()
	for _, value := range unknownMembers {
		v, err := crates(false).Decode(crateRow(value))
		assert.ErrorIs(t, err, row.ErrNewerFormat, value)
		assert.NotErrorIs(t, err, objstore.ErrCorrupt, value)
		assert.Equal(t, crate{}, v)
	}
	_, err := crates(false).Decode(crateRow(`{"name":"n","yes":true,"z":1}`))
	assert.EqualError(t, err, `crate "k": written by a newer version: unknown member "z"`)
	for _, open := range []bool{true, false} {
		_, err := crates(open).Decode(crateRow(`{"inner":{"m":0,"n":1},"name":"n"}`))
		assert.ErrorIs(t, err, row.ErrNewerFormat, "a nested object carries nothing")
	}
}

func TestDamageIsNoUnknownMember(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 9999) + strings.Repeat("]", 9999)
	_, err := crates(true).Decode(crateRow(`{"name":"n","z":` + deep + `}`))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"a known member is missing":      `{"z":1}`,
		"a known member is out of order": `{"raw":1,"name":"n","z":1}`,
		"a known member is ill-typed":    `{"name":1,"z":1}`,
		"an unknown one is out of order": `{"z":1,"name":"n"}`,
		"two are out of order":           `{"name":"n","z":1,"o":2}`,
		"one comes twice":                `{"name":"n","z":1,"z":1}`,
		"a known one comes twice":        `{"name":"n","name":"n","z":1}`,
		"white space":                    `{"name":"n","z": 1}`,
		"white space in the value":       `{"name":"n","z":[1, 2]}`,
		"a fraction":                     `{"name":"n","z":1.5}`,
		"an exponent":                    `{"name":"n","z":1e3}`,
		"too large":                      `{"name":"n","z":9007199254740992}`,
		"a needless escape":              `{"name":"n","z":"\u0061"}`,
		"a needless escape in the name":  `{"name":"n","\u007a":1}`,
		"an empty name":                  `{"":1,"name":"n"}`,
		"not UTF-8":                      "{\"name\":\"n\",\"z\":\"\xff\"}",
		"a name that is not UTF-8":       "{\"name\":\"n\",\"z\xff\":1}",
		"members of the value unsorted":  `{"name":"n","z":{"b":1,"a":1}}`,
		"by bytes, not by UTF-16":        "{\"name\":\"n\",\"z\":{\"\uffff\":2,\"\U0001f600\":1}}",
		"members of the value twice":     `{"name":"n","z":{"a":1,"a":1}}`,
		"text after it":                  `{"name":"n","z":1} `,
		"too deep":                       `{"name":"n","z":[` + deep + `]}`,
	} {
		for _, open := range []bool{true, false} {
			v, err := crates(open).Decode(crateRow(value))
			assert.ErrorIs(t, err, objstore.ErrCorrupt, name)
			assert.Equal(t, crate{}, v, name)
		}
	}
}

func TestAWriterNamesOnlyKnownMembers(t *testing.T) {
	t.Parallel()
	_, err := crates(true).Parse("k", []byte(`{"name":"n","title":"n"}`))
	assert.EqualError(t, err, `crate "k": title: unknown field`)
}

func TestAnOptionalValueDiffersFromNull(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]crate{
		`{"name":"n"}`:                        {Name: "n"},
		`{"name":"n","raw":null}`:             {Name: "n", Raw: json.RawMessage("null")},
		`{"name":"n","raw":{"b":1 ,"a":1.0}}`: {Name: "n", Raw: json.RawMessage(`{"b":1 ,"a":1.0}`)},
		`{"name":"n","yes":false}`:            {Name: "n", Yes: new(false)},
		`{"name":"n","yes":true}`:             {Name: "n", Yes: new(true)},
	} {
		v, err := crates(false).Decode(crateRow(value))
		require.NoError(t, err)
		assert.Equal(t, want, v)
		assert.Equal(t, value, string(crates(false).Encode(v).Value))
		v, err = crates(false).Parse("k", []byte(value))
		require.NoError(t, err)
		assert.Equal(t, want, v)
	}
	v, err := crates(false).Parse("k", []byte(`{"name":"n","yes":null}`))
	require.NoError(t, err)
	assert.Nil(t, v.Yes)
	_, err = crates(false).Decode(crateRow(`{"name":"n","yes":null}`))
	assert.ErrorIs(t, err, objstore.ErrCorrupt)
}

func TestADocumentIsClosed(t *testing.T) {
	t.Parallel()
	fields := crates(false).Fields
	v, err := row.ReadDocument(fields, []byte("{\"name\":\"n\"}\n"))
	require.NoError(t, err)
	assert.Equal(t, "n", v.Name)
	for text, want := range map[string]error{
		"{\"name\":\"n\",\"z\":1}\n":                     row.ErrNewerFormat,
		"{\"inner\":{\"n\":1,\"z\":1},\"name\":\"n\"}\n": row.ErrNewerFormat,
		"{\"name\":\"n\",\"z\":1}":                       row.ErrNotCanonical,
		"{\"name\":\"n\"}":                               row.ErrNotCanonical,
		"{\"z\":1}\n":                                    row.ErrNotCanonical,
	} {
		_, err := row.ReadDocument(fields, []byte(text))
		assert.ErrorIs(t, err, want, text)
	}
}

func FuzzOpenKind(f *testing.F) {
	for _, value := range unknownMembers {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		v, err := crates(true).Decode(crateRow(string(value)))
		if err != nil {
			require.Equal(t, crate{}, v)
			return
		}
		require.Equal(t, string(value), string(crates(true).Encode(v).Value))
		_, err = crates(false).Decode(crateRow(string(value)))
		if len(v.More) > 0 {
			require.ErrorIs(t, err, row.ErrNewerFormat)
		} else {
			require.NoError(t, err)
		}
		for _, m := range v.More {
			require.True(t, json.Valid(m.Value))
		}
	})
}
