package jsontext_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

func TestAPathEndsAtTheFirstEqualsSignOutsideOfBrackets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		steps []any
		rest  string
	}{
		`a.b=1`:                   {[]any{"a", "b"}, "=1"},
		`a`:                       {[]any{"a"}, ""},
		`a[0][12].b`:              {[]any{"a", 0, 12, "b"}, ""},
		`a["x.y=[z]"].b=c=d`:      {[]any{"a", "x.y=[z]", "b"}, "=c=d"},
		`a['x "y"'].b`:            {[]any{"a", `x "y"`, "b"}, ""},
		`a["\u0062\""]`:           {[]any{"a", `b"`}, ""},
		`a::2.naïve name`:         {[]any{"a::2", "naïve name"}, ""},
		`["write@@outer=1::0"].n`: {[]any{"write@@outer=1::0", "n"}, ""},
		``:                        {nil, ""},
		`=1`:                      {nil, "=1"},
	} {
		path, rest, err := jsontext.ParsePath(text)
		require.NoError(t, err, text)
		assert.Equal(t, want.rest, rest, text)
		var steps []any
		for _, s := range path {
			if s.Index >= 0 {
				steps = append(steps, s.Index)
			} else {
				steps = append(steps, s.Name)
			}
		}
		assert.Equal(t, want.steps, steps, text)
	}
	for _, text := range []string{".a", "a..b", "a.", "a[", "a[-1]", "a[b]", `a["b]`, "a[0]b", "a]", "a[1234567890]", "a.\xff"} {
		_, _, err := jsontext.ParsePath(text)
		assert.Error(t, err, text)
	}
}

func TestAnEditAtAPathLeavesAllOtherBytes(t *testing.T) {
	t.Parallel()
	text := `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{ }, "\u0061":0 }`
	for _, c := range []struct{ path, value, want string }{
		{"n", "42", `{ "n" : 42,"big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{ }, "\u0061":0 }`},
		{"list[1].x", `"y"`, `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"y"} ,3],"none":{ }, "\u0061":0 }`},
		{"a", "1.50", `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{ }, "\u0061":1.50 }`},
		{"z", "[]", `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{ }, "\u0061":0,"z":[] }`},
		{`none["a\"b"]`, "1", `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{"a\"b":1 }, "\u0061":0 }`},
		{"n", "", `{ "big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{ }, "\u0061":0 }`},
		{"a", "", `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"é"} ,3],"none":{ } }`},
		{"list[0]", "", `{ "n" : 1,"big":9007199254740993, "list":[{"x":"é"} ,3],"none":{ }, "\u0061":0 }`},
		{"list[2]", "", `{ "n" : 1,"big":9007199254740993, "list":[1, {"x":"é"}],"none":{ }, "\u0061":0 }`},
		{"list[1].x", "", `{ "n" : 1,"big":9007199254740993, "list":[1, {} ,3],"none":{ }, "\u0061":0 }`},
		{"", "null", `null`},
	} {
		path, _, err := jsontext.ParsePath(c.path)
		require.NoError(t, err)
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		edit, wrong := path.Edit([]byte(text), value)
		if wrong != nil {
			assert.True(t, wrong.Appends, c.path)
		}
		assert.Equal(t, c.want, string(edit.Apply([]byte(text))), c.path)
	}
}

func TestAPathIntoNothingSaysWhereItEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, why string
		depth     int
	}{
		{"n.x", "is not an object", 1},
		{"n[0]", "is not a list", 1},
		{"list[2]", "has 2 elements, and the first is [0]", 1},
		{"list.x", "is not an object", 1},
		{"no.x", `has no member "no"`, 0},
		{"list[1].no.y", `has no member "no"`, 2},
		{"twice", `has the member "twice" twice`, 0},
		{"[0]", "is not a list", 0},
	} {
		path, _, err := jsontext.ParsePath(c.path)
		require.NoError(t, err)
		_, wrong := path.Edit([]byte(`{"n":1,"list":[1,{"x":2}],"twice":1,"twice":2}`), []byte("1"))
		require.NotNil(t, wrong, c.path)
		assert.Equal(t, c.why, wrong.Why, c.path)
		assert.Equal(t, c.depth, wrong.Depth, c.path)
		assert.False(t, wrong.Appends, c.path)
	}
	path, _, err := jsontext.ParsePath("m")
	require.NoError(t, err)
	_, wrong := path.Edit([]byte(`{"n":1}`), nil)
	require.NotNil(t, wrong, "what is not there is not removed")
	assert.False(t, wrong.Appends)
	assert.Equal(t, []string{"n"}, wrong.Names)
}

func FuzzPathEdit(f *testing.F) {
	f.Add(`a[0]["b"]`, []byte(`{"a":[{"b":1}]}`), true)
	f.Add(`a`, []byte(` { } `), false)
	f.Fuzz(func(t *testing.T, text string, value []byte, remove bool) {
		path, rest, err := jsontext.ParsePath(text)
		if err != nil || !jsontext.Valid(value) || remove && len(path) == 0 {
			return
		}
		if len(rest) > len(text) || rest != "" && rest[0] != '=' {
			t.Fatalf("%q is left of %q", rest, text)
		}
		set := []byte("7")
		if remove {
			set = nil
		}
		edit, wrong := path.Edit(value, set)
		if wrong != nil && !wrong.Appends {
			return
		}
		if after := edit.Apply(value); !json.Valid(after) {
			t.Fatalf("%s of %q makes %q of %q", text, set, after, value)
		}
	})
}
