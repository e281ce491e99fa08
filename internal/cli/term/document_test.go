package term_test

import (
	"testing"

	"github.com/git-smithers/git-smithers/internal/cli/term"
)

func TestDocumentJoinsParts(t *testing.T) {
	type result struct {
		Run  string `json:"runId"`
		More *int   `json:"more,omitempty"`
	}
	for _, c := range []struct {
		name  string
		parts []any
		want  string
	}{
		{"the kind alone", nil, `{"kind":"k"}`},
		{"members in order", []any{term.Member("a<b", "x&y"), result{Run: "r"}, term.Member("n", nil)}, `{"kind":"k","a<b":"x&y","runId":"r","n":null}`},
		{"optional members", []any{term.Optional("a", ""), term.Optional("b", []int{}), term.Optional("c", 1)}, `{"kind":"k","c":1}`},
		{"no members of a nil pointer", []any{(*result)(nil), term.Member("n", 1)}, `{"kind":"k","n":1}`},
	} {
		got, err := term.EncodeValue(term.Document("k", c.parts...))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	if _, err := term.EncodeValue(term.Document("k", []int{1})); err == nil {
		t.Error("a list as a part: no error")
	}
}
