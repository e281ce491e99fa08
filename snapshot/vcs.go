package snapshot

import (
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// The version control systems of working copies.
const (
	VCSGit = "git"
	VCSJJ  = "jj"
)

// VCS is the content of vcs.json: the working copy at an entry. Ids are lower-case letters and digits. A path is
// any bytes, as in git; EscapePath spells it in JSON.
type VCS struct {
	Type      string `json:"type"` // git or jj
	CommitID  string `json:"commitId,omitempty"`
	ChangeID  string `json:"changeId,omitempty"`
	Operation string `json:"operationId,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Frame     int64  `json:"frame"` // the first frame with exactly this capture; Append sets it

	// Root is the path of the working copy's top, with slashes, relative to the top of the repository's main
	// working copy; "" is the main working copy itself.
	Root string `json:"root,omitempty"`
	// Tree is the git tree of the captured files; zero if only the revision is known. Append stores it in the
	// entry as worktree/.
	Tree objstore.ID `json:"treeId,omitzero"`
	// Scope is the set of files in Tree: ScopeAll or ScopeTracked; "" without a tree.
	Scope string `json:"scope,omitempty"`
	// Conflicted means that jj's commit has conflicts. Tree then has the files with conflict markers.
	Conflicted bool `json:"conflicted,omitempty"`
	// Attempts are the keys of the attempts that ran during the capture and may have changed the files meanwhile;
	// sorted, each once.
	Attempts []string `json:"attempts,omitempty"`
	// LeftOut are files of the working copy that are not in Tree. Altered are files that a checkout of Tree
	// restores byte for byte only with the user's filters. Both are sorted by path, each path once. Append keeps
	// the first MaxListed of each, and counts the others.
	LeftOut     []LeftOut `json:"leftOut,omitempty"`
	LeftOutMore int64     `json:"leftOutMore,omitempty"`
	Altered     []Altered `json:"altered,omitempty"`
	AlteredMore int64     `json:"alteredMore,omitempty"`
	// Worktrees are the tasks' own worktrees, sorted by name. Append stores their trees in the entry as
	// worktrees/<name>. They have no Worktrees themselves.
	Worktrees []Worktree `json:"worktrees,omitempty"`
}

// MaxListed is the maximum length of LeftOut and of Altered.
const MaxListed = 1000

// The values of VCS.Scope: the files that a capture takes.
const (
	ScopeAll     = "all"     // tracked files, and untracked files that are not ignored
	ScopeTracked = "tracked" // tracked files
)

// LeftOut is a file, or a folder with a slash at its end, that a capture leaves out. Its path is any bytes, as in
// git; EscapePath spells it in JSON.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // one of the Left… constants
	Bytes  int64  `json:"bytes,omitempty"`
}

// The values of LeftOut.Reason.
const (
	LeftTooLarge   = "too-large"           // larger than smithers.worktreeMaxFile
	LeftEmbedded   = "embedded-repository" // a repository that is not a submodule
	LeftUntracked  = "untracked"           // untracked files: all of them if the path is "", those in a folder, or one file; too many, too large together, or excluded
	LeftByJJ       = "left-out-by-jj"      // new, and larger than jj's snapshot.max-new-file-size
	LeftUnreadable = "unreadable"
	LeftDirty      = "dirty-submodule" // the submodule's commit is captured, but not the changes in its files
)

// Altered is a file whose stored form differs from the file in the working copy. Its path is any bytes, as in
// [LeftOut].
type Altered struct {
	Path string `json:"path"`
	By   string `json:"by"` // the conversion: the name of a filter such as "lfs", or "eol", "ident", "encoding"
}

// Worktree is the working copy of a task with its own worktree.
type Worktree struct {
	Name string `json:"name"`
	VCS
}

// Pointer returns the name of the revision, which Smithers calls the vcs pointer: the commit id or, without a
// commit, the change id.
func (v *VCS) Pointer() string {
	if v.CommitID != "" {
		return v.CommitID
	}
	return v.ChangeID
}

// summary returns the value of Header.VCS.
func (v *VCS) summary() string {
	if v.Type == VCSJJ {
		return VCSJJ + ":" + v.ChangeID + "@" + v.CommitID
	}
	return VCSGit + ":" + v.CommitID
}

// isSummary reports whether s is empty or a possible result of summary.
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

func isRevision(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(s) <= maxRevision
}

// clone returns a copy that shares no memory that can be modified. Empty lists become nil.
func (v *VCS) clone() *VCS {
	c := *v
	c.Attempts, c.LeftOut = append([]string(nil), v.Attempts...), append([]LeftOut(nil), v.LeftOut...)
	c.Altered, c.Worktrees = append([]Altered(nil), v.Altered...), append([]Worktree(nil), v.Worktrees...)
	for i := range c.Worktrees {
		c.Worktrees[i].VCS = *c.Worktrees[i].clone()
	}
	return &c
}

// normalize makes texts valid UTF-8, shortens the root, keeps the first MaxListed files of each list, and counts
// the others.
func (v *VCS) normalize() {
	v.Branch, v.Root = validText(v.Branch), cleanRoot(v.Root)
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

// cleanRoot returns the shortest path to a root.
func cleanRoot(root string) string {
	if root = path.Clean(validText(root)); root == "." {
		return ""
	}
	return root
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// date sets the frame at which each working copy was captured: before's frame if the working copy is unchanged
// since, otherwise now.
func (v *VCS) date(before *VCS, now int64) {
	v.Frame = now
	if before != nil {
		v.Frame = before.Frame
		if !v.sameCopy(before) {
			v.Frame = now
		}
	}
	for i := range v.Worktrees {
		w := &v.Worktrees[i]
		w.date(before.worktree(w.Name), now)
	}
}

// sameCopy reports whether two captures have the same content, except the worktrees of tasks.
func (v *VCS) sameCopy(other *VCS) bool {
	a, b := *v, *other
	a.Worktrees, b.Worktrees = nil, nil
	return string(encodeVCS(a)) == string(encodeVCS(b))
}

// worktree returns a task's own worktree, or nil if there is none. v may be nil.
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
