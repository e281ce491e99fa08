package snapshot

import (
	"fmt"
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// The version control systems of working copies.
const (
	VCSGit = "git"
	VCSJJ  = "jj"
)

// VCS is the content of vcs.json: the working copy at an entry. Ids are lower-case letters and digits. The path of a
// file is any bytes, as in git; EscapePath returns the spelling of the path in JSON.
type VCS struct {
	Type      string `json:"type"` // git or jj
	CommitID  string `json:"commitId,omitempty"`
	ChangeID  string `json:"changeId,omitempty"`
	Operation string `json:"operationId,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Frame     int64  `json:"frame"` // the first frame with exactly this capture; Append sets the field

	// Root is the path of the working copy's top, with slashes, relative to the top of the repository's main
	// working copy; "" is the main working copy itself.
	Root string `json:"root,omitempty"`
	// Tree is the git tree of the captured files; zero if only the revision is known. Append stores the tree in the
	// entry as worktree/.
	Tree objstore.ID `json:"treeId,omitzero"`
	// Scope is the set of files in Tree: ScopeAll or ScopeTracked; "" without a tree.
	Scope string `json:"scope,omitempty"`
	// Conflicted means that jj's commit has conflicts. Tree then has the files with conflict markers.
	Conflicted bool `json:"conflicted,omitempty"`
	// Attempts lists the keys of the attempts that ran during the capture, and so may have changed files at the same
	// time; sorted, each key once.
	Attempts []string `json:"attempts,omitempty"`
	// LeftOut lists the files of the working copy that are not in Tree. Altered lists the files that a checkout of
	// Tree restores byte for byte only with the user's filters. Both are sorted by path, each path once. Append
	// keeps the first MaxListed files of each list, and adds the number of other files to LeftOutMore or AlteredMore.
	LeftOut     []LeftOut     `json:"leftOut,omitempty"`
	LeftOutMore int64         `json:"leftOutMore,omitempty"`
	Altered     []AlteredFile `json:"altered,omitempty"`
	AlteredMore int64         `json:"alteredMore,omitempty"`
	// Worktrees lists the tasks' own worktrees, sorted by name. Append stores their trees in the entry as
	// worktrees/<name>. A worktree in the list has no Worktrees itself.
	Worktrees []Worktree `json:"worktrees,omitempty"`
	// With lists the runs and sessions that worked in the same working copy when the files were captured, or since the previous
	// capture; sorted. It is not in vcs.json: if the files have changed, Append writes an event. See Entry.SharedWith.
	With []string `json:"-"`
}

// MaxListed is the maximum length of LeftOut and of Altered.
const MaxListed = 1000

// The values of VCS.Scope: the files that a capture takes.
const (
	ScopeAll     = "all"     // tracked files, and untracked files that are not ignored
	ScopeTracked = "tracked" // tracked files
)

// LeftOut is a file, or a folder with a slash at its end, that a capture leaves out. For the reason LeftUntracked, a
// folder means its untracked files, and the path "" means all untracked files. The path is any bytes, as in git;
// EscapePath returns the spelling of the path in JSON.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // one of the Left… constants
	Bytes  int64  `json:"bytes,omitempty"`
}

// The values of LeftOut.Reason.
const (
	LeftTooLarge   = "too-large"           // larger than smithers.worktreeMaxFile
	LeftEmbedded   = "embedded-repository" // a repository that is not a submodule
	LeftUntracked  = "untracked"           // untracked files: too many, too large together, or excluded
	LeftByJJ       = "left-out-by-jj"      // new, and larger than jj's snapshot.max-new-file-size
	LeftUnreadable = "unreadable"          // the capture could not read the file, or git refuses its name
	LeftSecret     = "secret"              // an untracked file that has a secret, or is named like a file of secrets
	LeftDirty      = "dirty-submodule"     // the submodule's commit is captured, but not the changes in its files
)

// AlteredFile is a file whose stored form differs from the file in the working copy. The path is any bytes, as in git;
// EscapePath returns the spelling of the path in JSON.
type AlteredFile struct {
	Path string `json:"path"`
	By   string `json:"by"` // the conversion: the name of a filter such as "lfs", or "eol", "ident", "encoding"
}

// Worktree is the working copy in a task's own worktree.
type Worktree struct {
	Name string `json:"name"`
	VCS
}

// Pointer returns the name of the revision, which Smithers calls the vcs pointer: the commit id or, without a
// commit id, the change id.
func (v *VCS) Pointer() string {
	if v.CommitID != "" {
		return v.CommitID
	}
	return v.ChangeID
}

// summary returns the value of Header.VCS: "git:<commit>" or "jj:<change>@<commit>".
func (v *VCS) summary() string {
	if v.Type == VCSJJ {
		return VCSJJ + ":" + v.ChangeID + "@" + v.CommitID
	}
	return VCSGit + ":" + v.CommitID
}

// isSummary reports whether s is "" or a text that summary can return.
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

// maxRevision is the maximum length of the id of a commit, a change or an operation.
const maxRevision = 128

// revisionError returns the error of a text that is not a revision.
func revisionError(s string) error {
	return fmt.Errorf("%q is not a revision: a revision has at most %d lower-case letters and digits", s, maxRevision)
}

// isRevision reports whether s has only lower-case letters and digits, at most maxRevision of them. The empty
// text is a valid revision.
func isRevision(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(s) <= maxRevision
}

// clone returns a copy of v. Changes of the copy do not affect v. In the copy, empty lists are nil.
func (v *VCS) clone() *VCS {
	c := *v
	c.Attempts, c.LeftOut = append([]string(nil), v.Attempts...), append([]LeftOut(nil), v.LeftOut...)
	c.Altered, c.Worktrees = append([]AlteredFile(nil), v.Altered...), append([]Worktree(nil), v.Worktrees...)
	for i := range c.Worktrees {
		c.Worktrees[i].VCS = *c.Worktrees[i].clone()
	}
	return &c
}

// normalize changes v, and each of v.Worktrees, so that too long or invalid content does not prevent Append from
// storing them. In Branch, Root and AlteredFile.By, normalize replaces bytes that are not UTF-8, and it gives Root its
// shortest spelling. It removes With, which vcs.json does not have. It keeps the first MaxListed files of LeftOut and of Altered, and adds the number of the other
// files to LeftOutMore and AlteredMore.
func (v *VCS) normalize() {
	v.Branch, v.Root, v.With = validText(v.Branch), cleanRoot(v.Root), nil
	if more := len(v.LeftOut) - MaxListed; more > 0 {
		v.LeftOut, v.LeftOutMore = v.LeftOut[:MaxListed], v.LeftOutMore+int64(more)
	}
	if more := len(v.Altered) - MaxListed; more > 0 {
		v.Altered, v.AlteredMore = v.Altered[:MaxListed], v.AlteredMore+int64(more)
	}
	for i := range v.Altered {
		v.Altered[i].By = validText(v.Altered[i].By)
	}
	for i := range v.Worktrees {
		v.Worktrees[i].normalize()
	}
}

// cleanRoot returns the shortest spelling of the path root, with U+FFFD for bytes that are not UTF-8. The
// result is "" for the current folder.
func cleanRoot(root string) string {
	if root = path.Clean(validText(root)); root == "." {
		return ""
	}
	return root
}

// validText returns s with U+FFFD for each run of bytes that are not UTF-8.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// date sets v.Frame to the number of the first frame with the content of v. The parameter before is the working copy in
// the previous entry, or nil. If v and before have the same content, v.Frame becomes before.Frame. Otherwise, v.Frame
// becomes now, the number of the run's newest frame. date then sets the Frame of each of v.Worktrees in the same way,
// by a comparison with the worktree of the same name in before.
func (v *VCS) date(before *VCS, now int64) {
	v.Frame = now
	if before != nil {
		v.Frame = before.Frame // because sameCopy compares Frame, too
		if !v.sameCopy(before) {
			v.Frame = now
		}
	}
	for i := range v.Worktrees {
		w := &v.Worktrees[i]
		w.date(before.worktree(w.Name), now)
	}
}

// sameCopy reports whether v and other have the same content, Frame included. It ignores Worktrees.
func (v *VCS) sameCopy(other *VCS) bool {
	a, b := *v, *other
	a.Worktrees, b.Worktrees = nil, nil
	return string(encodeVCS(a)) == string(encodeVCS(b))
}

// worktree returns the working copy in the worktree called name, which belongs to a task, or nil if v has no such
// worktree. If v is nil, worktree returns nil.
func (v *VCS) worktree(name string) *VCS {
	if v == nil {
		return nil
	}
	for i := range v.Worktrees {
		if v.Worktrees[i].Name == name {
			return &v.Worktrees[i].VCS
		}
	}
	return nil
}
