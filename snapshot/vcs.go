package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
)

// The version control systems that a working copy may be under.
const (
	VCSGit = "git"
	VCSJJ  = "jj"
)

// VCS is vcs.json: the revision of the working copy at an entry. Ids are lower-case
// letters and digits.
type VCS struct {
	Type      string `json:"type"` // git or jj
	CommitID  string `json:"commitId,omitempty"`
	ChangeID  string `json:"changeId,omitempty"`
	Operation string `json:"operationId,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Frame     int64  `json:"frame"` // the first one captured at this revision; Append sets it
}

// Pointer is the revision by which the working copy is named: Smithers' vcs
// pointer, the commit id. It is the change id where there is no commit.
func (v *VCS) Pointer() string {
	if v.CommitID != "" {
		return v.CommitID
	}
	return v.ChangeID
}

// summary is Header.VCS.
func (v *VCS) summary() string {
	if v.Type == VCSJJ {
		return VCSJJ + ":" + v.ChangeID + "@" + v.CommitID
	}
	return VCSGit + ":" + v.CommitID
}

// isSummary tells whether s is what summary returns for some revision, or empty.
func isSummary(s string) bool {
	if s == "" {
		return true
	}
	kind, ids, ok := strings.Cut(s, ":")
	if !ok {
		return false
	}
	commit := ids
	if kind == VCSJJ {
		var change string
		if change, commit, ok = strings.Cut(ids, "@"); !ok || !isRevision(change) {
			return false
		}
	}
	return (kind == VCSGit || kind == VCSJJ) && isRevision(commit)
}

// maxRevision is the longest id of a commit, change or operation.
const maxRevision = 128

func isRevision(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(s) <= maxRevision
}

func (v *VCS) check() error {
	switch {
	case v.Type != VCSGit && v.Type != VCSJJ:
		return fmt.Errorf("type: unknown type %q", v.Type)
	case !isRevision(v.CommitID) || !isRevision(v.ChangeID) || !isRevision(v.Operation):
		return errors.New("commitId, changeId or operationId: not lower-case letters and digits")
	case !utf8.ValidString(v.Branch):
		return errors.New("branch: not UTF-8")
	case v.Frame < 0 || v.Frame > maxInteger:
		return errors.New("frame: out of range")
	}
	return nil
}

// encodeVCS is the bytes of vcs.json.
func encodeVCS(v VCS) []byte {
	b := []byte{'{'}
	b = appendOptional(b, "branch", v.Branch)
	b = appendOptional(b, "changeId", v.ChangeID)
	b = appendOptional(b, "commitId", v.CommitID)
	b = appendIntMember(b, "frame", v.Frame)
	b = appendOptional(b, "operationId", v.Operation)
	b = appendStringMember(b, "type", v.Type)
	return append(b, '}', '\n')
}

// decodeVCS is the strict inverse of encodeVCS.
func decodeVCS(id objstore.ID, data []byte) (*VCS, error) {
	v := new(VCS)
	m := metadata{rest: data}
	for _, text := range []struct {
		name  string
		value *string
	}{{"branch", &v.Branch}, {"changeId", &v.ChangeID}, {"commitId", &v.CommitID}} {
		if m.optional(text.name) {
			*text.value = m.str()
		}
	}
	m.name("frame")
	v.Frame = m.int()
	if m.optional("operationId") {
		v.Operation = m.str()
	}
	m.name("type")
	v.Type = m.str()
	m.close()
	if !m.done("\n") || !bytes.Equal(encodeVCS(*v), data) {
		return nil, corrupt(id, "vcs.json: %v", errNotCanonical)
	}
	if err := v.check(); err != nil {
		return nil, corrupt(id, "vcs.json: %v", err)
	}
	return v, nil
}
