package snapshot_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

func someHeader() snapshot.Header {
	return snapshot.Header{
		Run: "Review/42", Frame: 7, Newest: 7, NextSeq: 12, AtMs: someTime, Subject: "analyze finished", VCS: "git:0123abcd", Operation: "op 1",
		Parent: objstore.SHA1.ID(objstore.Blob, []byte("p")), Tree: objstore.SHA1.ID(objstore.Blob, []byte("t")),
	}
}

func TestHeaderIsACommitForGitLog(t *testing.T) {
	t.Parallel()
	h := someHeader()
	h.IDs = []string{"call_1", "ns/call@2"}
	assert.Equal(t, `tree `+h.Tree.String()+`
parent `+h.Parent.String()+`
author git-smithers <git-smithers@localhost.invalid> 1767323045 +0000
committer git-smithers <git-smithers@localhost.invalid> 1767323045 +0000

analyze finished

Smithers-Format: 2
Smithers-Run: %52eview%2f42
Smithers-Frame: 7
Smithers-Id: call_1
Smithers-Id: ns%2fcall%402
Smithers-Events: 12
Smithers-Time: 1767323045678
Smithers-Content-Hash: `+strings.Repeat("0", 64)+`
Smithers-Vcs: git:0123abcd
Smithers-Operation: op%201
`, string(snapshot.EncodeHeader(h)))
}

func TestHeadersComeBack(t *testing.T) {
	t.Parallel()
	base := someHeader()
	for name, edit := range map[string]func(*snapshot.Header){
		"as it is":                  func(*snapshot.Header) {},
		"not a frame":               func(h *snapshot.Header) { h.Frame = snapshot.NoFrame },
		"a run's first":             func(h *snapshot.Header) { h.Parent = objstore.ID{} },
		"on a base outside":         func(h *snapshot.Header) { h.Base, h.Parent = h.Parent, objstore.ID{} },
		"no revision, no operation": func(h *snapshot.Header) { h.VCS, h.Operation = "", "" },
		"a jj revision":             func(h *snapshot.Header) { h.VCS = "jj:kxyz@0123" },
		"a signature":               func(h *snapshot.Header) { h.Extra = "gpgsig -----BEGIN\n line\n -----END\n" },
		"based on a frame":          func(h *snapshot.Header) { h.Based = new(int64(3)) },
		"based on none":             func(h *snapshot.Header) { h.Based = new(snapshot.NoFrame) },
		"ids":                       func(h *snapshot.Header) { h.IDs = []string{"@a", "ns/b:c", "é\n\x00"} },
		"a long run id":             func(h *snapshot.Header) { h.Run = strings.Repeat("é:", 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := base
			edit(&h)
			data := snapshot.EncodeHeader(h)
			got, err := snapshot.DecodeHeader(objstore.SHA1.ID(objstore.Commit, data), data)
			require.NoError(t, err)
			assert.Equal(t, h, got)
		})
	}
}

func TestSubjectsAreMadeFit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, given, want string }{
		{"an ordinary one stays", "fix: analyze finished", "fix: analyze finished"},
		{"lines are joined", "a\nb\r\n\n c\t", "a b c"},
		{"control characters go", "a\x1b[31mb\x00\u202ec", "a [31mb c"},
		{"what is not UTF-8 is replaced", "a\xffb", "a\uFFFDb"},
		{"none has a stand-in", " \n", "(no subject)"},
		{"it is not like a trailer of ours", "Smithers-Frame: 9", "entry: Smithers-Frame: 9"},
		{"a second paragraph is no trailer block", "x\n\nSmithers-Frame: 9", "x Smithers-Frame: 9"},
		{"a long one is cut between characters", strings.Repeat("é", 150), strings.Repeat("é", 98) + "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := someHeader()
			h.Subject = tc.given
			data := snapshot.EncodeHeader(h)
			got, err := snapshot.DecodeHeader(objstore.SHA1.ID(objstore.Commit, data), data)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got.Subject)
			assert.LessOrEqual(t, len(got.Subject), 200)
			assert.True(t, utf8.ValidString(got.Subject))
			again := got
			assert.Equal(t, string(data), string(snapshot.EncodeHeader(again)))
		})
	}
}

// TestEverySubjectThatIsWrittenIsRead fails if Go counts a character as printable that no subject may have.
func TestEverySubjectThatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	const together = 40 // as many characters as fit into a subject
	for first := rune(0); first <= unicode.MaxRune; first += together {
		var given strings.Builder
		for r := first; r < first+together; r++ {
			given.WriteRune(r)
		}
		h := someHeader()
		h.Subject = given.String()
		data := snapshot.EncodeHeader(h)
		_, err := snapshot.DecodeHeader(objstore.SHA1.ID(objstore.Commit, data), data)
		require.NoError(t, err, "%U", first)
	}
}
