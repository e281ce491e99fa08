package snapshot

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// vcsFields declares the members of vcs.json.
var vcsFields = slices.Concat(copyFields, []row.Field[VCS]{
	row.List("worktrees", func(v *VCS) *[]Worktree { return &v.Worktrees }, worktreeFields),
})

// worktreeFields declares the members of a task's worktree: the members of a working copy, and the name.
var worktreeFields = slices.Concat(
	row.Part(copyFields[:copyName], (*Worktree).copy),
	[]row.Field[Worktree]{row.Text("name", func(w *Worktree) *string { return &w.Name })},
	row.Part(copyFields[copyName:], (*Worktree).copy),
)

// copyName is the index in copyFields at which "name" belongs, because members are sorted by name.
const copyName = 10

// copyFields declares the members of every working copy.
var copyFields = []row.Field[VCS]{
	row.List("altered", func(v *VCS) *[]AlteredFile { return &v.Altered }, alteredFields),
	row.Count("alteredMore", func(v *VCS) *int64 { return &v.AlteredMore }),
	row.OptionalList("attempts", func(v *VCS) *[]string { return &v.Attempts }),
	row.OptionalText("branch", func(v *VCS) *string { return &v.Branch }),
	row.OptionalText("changeId", func(v *VCS) *string { return &v.ChangeID }),
	row.OptionalText("commitId", func(v *VCS) *string { return &v.CommitID }),
	row.True("conflicted", func(v *VCS) *bool { return &v.Conflicted }),
	row.Int("frame", func(v *VCS) *int64 { return &v.Frame }),
	row.List("leftOut", func(v *VCS) *[]LeftOut { return &v.LeftOut }, leftOutFields),
	row.Count("leftOutMore", func(v *VCS) *int64 { return &v.LeftOutMore }),
	row.OptionalText("operationId", func(v *VCS) *string { return &v.Operation }),
	row.OptionalText("root", func(v *VCS) *string { return &v.Root }),
	row.OptionalText("scope", func(v *VCS) *string { return &v.Scope }),
	row.OptionalID("treeId", func(v *VCS) *objstore.ID { return &v.Tree }),
	row.Text("type", func(v *VCS) *string { return &v.Type }),
}

// alteredFields declares the members of an AlteredFile.
var alteredFields = []row.Field[AlteredFile]{
	row.Text("by", func(a *AlteredFile) *string { return &a.By }),
	row.Spelled("path", func(a *AlteredFile) *string { return &a.Path }, pathSpelling{}),
}

// leftOutFields declares the members of a LeftOut.
var leftOutFields = []row.Field[LeftOut]{
	row.Count("bytes", func(l *LeftOut) *int64 { return &l.Bytes }),
	row.Spelled("path", func(l *LeftOut) *string { return &l.Path }, pathSpelling{}),
	row.Text("reason", func(l *LeftOut) *string { return &l.Reason }),
}

// copy returns a pointer to the working copy in w. The result is not a duplicate: changes of the result affect w.
func (w *Worktree) copy() *VCS { return &w.VCS }

// encodeVCS returns the content of vcs.json.
func encodeVCS(v VCS) []byte { return row.Document(vcsFields, &v) }

// decodeVCS decodes data, the content of vcs.json. id is the id of the file's blob, for errors. If data has an unknown
// member, the error wraps ErrNewerFormat. If encodeVCS would not have written data for any other reason, or the working
// copy cannot be stored, the error wraps objstore.ErrCorrupt.
func decodeVCS(id objstore.ID, data []byte) (*VCS, error) {
	v, err := row.ReadDocument(vcsFields, data)
	if err == nil {
		err = v.check()
	}
	if err != nil {
		return nil, unreadable(id, vcsName, err)
	}
	return v, nil
}

// EscapePath returns a path, which may be any bytes, as UTF-8 text. Each percent sign, and each byte that is
// not UTF-8, becomes a percent sign and two lower-case hex digits.
func EscapePath(p string) string {
	if utf8.ValidString(p) && !strings.Contains(p, "%") {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRuneInString(p[i:])
		if r == '%' || r == utf8.RuneError && size == 1 {
			b.WriteString(escape(p[i:i+1], func(byte) bool { return false }))
		} else {
			b.WriteString(p[i : i+size])
		}
		i += size
	}
	return b.String()
}

// UnescapePath is the inverse of EscapePath: it returns the path that EscapePath escapes to s, and true. If EscapePath
// cannot have returned s, UnescapePath returns false, and the returned text must not be used.
func UnescapePath(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, utf8.ValidString(s)
	}
	p, ok := percentDecode(s)
	if !ok || EscapePath(p) != s {
		return "", false
	}
	return p, true
}

// pathSpelling implements row.Spelling for file paths.
type pathSpelling struct{}

// Spell returns the spelling of the path p, as EscapePath does.
func (pathSpelling) Spell(p string) string { return EscapePath(p) }

// Read returns the path for which Spell returns s. If Spell cannot have returned s, the error is errPathSpelling.
func (pathSpelling) Read(s string) (string, error) {
	p, ok := UnescapePath(s)
	if !ok {
		return "", errPathSpelling
	}
	return p, nil
}

// errPathSpelling is the error about a text that EscapePath cannot have returned.
var errPathSpelling = errors.New("invalid escape in a path: write a percent sign as %25")

// MarshalJSON returns the JSON object of l, with the path as EscapePath spells it.
func (l LeftOut) MarshalJSON() ([]byte, error) { return row.AppendObject(nil, leftOutFields, &l), nil }

// MarshalJSON returns the JSON object of a, with the path as EscapePath spells it.
func (a AlteredFile) MarshalJSON() ([]byte, error) {
	return row.AppendObject(nil, alteredFields, &a), nil
}

// UnmarshalJSON reads a JSON object with the members that MarshalJSON writes, in any order. An unknown member is an
// error.
func (l *LeftOut) UnmarshalJSON(data []byte) error { return row.Members(data, l, leftOutFields) }

// UnmarshalJSON reads a JSON object with the members that MarshalJSON writes, in any order. An unknown member is an
// error.
func (a *AlteredFile) UnmarshalJSON(data []byte) error { return row.Members(data, a, alteredFields) }
