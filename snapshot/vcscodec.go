package snapshot

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// vcsFields declares the members of vcs.json.
var vcsFields = slices.Concat(copyFields, []row.Field[VCS]{
	row.List("worktrees", func(v *VCS) *[]Worktree { return &v.Worktrees }, worktreeFields),
})

// worktreeFields declares the members of a task's worktree: those of a working copy, and the name.
var worktreeFields = slices.Concat(
	row.Part(copyFields[:copyName], (*Worktree).copy),
	[]row.Field[Worktree]{row.Text("name", func(w *Worktree) *string { return &w.Name })},
	row.Part(copyFields[copyName:], (*Worktree).copy),
)

// copyName is the index of "name" among the sorted members of a working copy.
const copyName = 10

// copyFields declares the members of every working copy.
var copyFields = []row.Field[VCS]{
	row.List("altered", func(v *VCS) *[]Altered { return &v.Altered }, alteredFields),
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

var alteredFields = []row.Field[Altered]{
	row.Text("by", func(a *Altered) *string { return &a.By }),
	row.Spelled("path", func(a *Altered) *string { return &a.Path }, pathSpelling{}),
}

var leftOutFields = []row.Field[LeftOut]{
	row.Count("bytes", func(l *LeftOut) *int64 { return &l.Bytes }),
	row.Spelled("path", func(l *LeftOut) *string { return &l.Path }, pathSpelling{}),
	row.Text("reason", func(l *LeftOut) *string { return &l.Reason }),
}

func (w *Worktree) copy() *VCS { return &w.VCS }

// encodeVCS returns the content of vcs.json.
func encodeVCS(v VCS) []byte { return row.Document(vcsFields, &v) }

// decodeVCS is the strict inverse of encodeVCS.
func decodeVCS(id objstore.ID, data []byte) (*VCS, error) {
	v, canonical := row.ReadDocument(vcsFields, data)
	if !canonical {
		return nil, corrupt(id, "vcs.json: %v", row.ErrNotCanonical)
	}
	if err := v.check(); err != nil {
		return nil, corrupt(id, "vcs.json: %v", err)
	}
	return v, nil
}

// EscapePath spells a path, which may be any bytes, as text. Bytes that are not UTF-8, and percent signs, become a
// percent sign and two hex digits.
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

// unescapePath is the strict inverse of EscapePath.
func unescapePath(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, utf8.ValidString(s)
	}
	p, ok := percentDecode(s)
	if !ok || EscapePath(p) != s {
		return "", false
	}
	return p, true
}

// pathSpelling is the spelling of file paths in JSON.
type pathSpelling struct{}

// Spell is EscapePath.
func (pathSpelling) Spell(p string) string { return EscapePath(p) }

// Read is the strict inverse of EscapePath.
func (pathSpelling) Read(s string) (string, error) {
	p, ok := unescapePath(s)
	if !ok {
		return "", errPathSpelling
	}
	return p, nil
}

var errPathSpelling = errors.New("not the spelling of a path: a percent sign is written %25")

// MarshalJSON spells the path as EscapePath does.
func (l LeftOut) MarshalJSON() ([]byte, error) { return row.AppendObject(nil, leftOutFields, &l), nil }

// MarshalJSON spells the path as EscapePath does.
func (a Altered) MarshalJSON() ([]byte, error) { return row.AppendObject(nil, alteredFields, &a), nil }

// UnmarshalJSON is the inverse of MarshalJSON. The members may be in any order; an unknown member is an error.
func (l *LeftOut) UnmarshalJSON(data []byte) error { return row.Members(data, l, leftOutFields) }

// UnmarshalJSON is the inverse of MarshalJSON. The members may be in any order; an unknown member is an error.
func (a *Altered) UnmarshalJSON(data []byte) error { return row.Members(data, a, alteredFields) }
