package snapshot

import (
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// The version control systems that a working copy may be under.
const (
	VCSGit = "git"
	VCSJJ  = "jj"
)

// VCS is vcs.json: the working copy at an entry. Ids are lower-case letters and
// digits. Paths are bytes, as git has them; in JSON they are spelled as in vcs.json.
type VCS struct {
	Type      string `json:"type"` // git or jj
	CommitID  string `json:"commitId,omitempty"`
	ChangeID  string `json:"changeId,omitempty"`
	Operation string `json:"operationId,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Frame     int64  `json:"frame"` // the first one captured exactly so; Append sets it

	// Root is where the working copy's top is, relative to that of the repository's
	// main one, with slashes; "" for the main one itself.
	Root string `json:"root,omitempty"`
	// Tree is the git tree of the files, as captured; zero where only the revision is
	// known. Append hangs it into the entry as worktree/.
	Tree objstore.ID `json:"treeId,omitzero"`
	// Scope says which files Tree has: ScopeAll or ScopeTracked; "" without a tree.
	Scope string `json:"scope,omitempty"`
	// Conflicted: jj's commit has conflicts; Tree has the files with their markers.
	Conflicted bool `json:"conflicted,omitempty"`
	// Attempts are the keys of the attempts that were running while the files were
	// read, and so may have been changing them; sorted, each once.
	Attempts []string `json:"attempts,omitempty"`
	// LeftOut are files that are in the working copy and not in Tree, Altered those
	// that a checkout of Tree would not give back byte for byte without the user's
	// filters. Sorted by path, each once. Append keeps the first MaxListed of each and
	// counts the others.
	LeftOut     []LeftOut `json:"leftOut,omitempty"`
	LeftOutMore int64     `json:"leftOutMore,omitempty"`
	Altered     []Altered `json:"altered,omitempty"`
	AlteredMore int64     `json:"alteredMore,omitempty"`
	// Worktrees are the tasks' own worktrees, sorted by name. Append hangs their trees
	// into the entry as worktrees/<name>. None of them has Worktrees.
	Worktrees []Worktree `json:"worktrees,omitempty"`
}

// MaxListed is how many files LeftOut and Altered name each.
const MaxListed = 1000

// Which files a capture takes.
const (
	ScopeAll     = "all"     // what is tracked, and what is untracked and not ignored
	ScopeTracked = "tracked" // what is tracked
)

// LeftOut is a file, or a folder with a slash at its end, that a capture leaves out.
// Its path is bytes, as git has them; JSON spells them as vcs.json does.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // one of the Left… constants
	Bytes  int64  `json:"bytes,omitempty"`
}

// Why a capture leaves a file out.
const (
	LeftTooLarge   = "too-large"           // above smithers.worktreeMaxFile
	LeftEmbedded   = "embedded-repository" // a repository that is no submodule
	LeftUntracked  = "untracked"           // path "": all untracked files, too many, or too large together; a folder: those in it; a file: the capture was told to leave it out
	LeftByJJ       = "left-out-by-jj"      // new and above snapshot.max-new-file-size
	LeftUnreadable = "unreadable"
	LeftDirty      = "dirty-submodule" // the submodule's commit is captured, and not what is changed in it
)

// Altered is a file whose stored form is not what stands in the working copy. Its path
// is as that of [LeftOut].
type Altered struct {
	Path string `json:"path"`
	By   string `json:"by"` // "lfs" or another filter's name, "eol", "ident", "encoding"
}

// Worktree is the working copy of a task that has one of its own.
type Worktree struct {
	Name string `json:"name"`
	VCS
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

// isSummary reports whether s is what summary returns for some revision, or empty.
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

// clone is a copy that shares nothing that can be changed, and has nil for empty lists.
func (v *VCS) clone() *VCS {
	c := *v
	c.Attempts, c.LeftOut = append([]string(nil), v.Attempts...), append([]LeftOut(nil), v.LeftOut...)
	c.Altered, c.Worktrees = append([]Altered(nil), v.Altered...), append([]Worktree(nil), v.Worktrees...)
	for i := range c.Worktrees {
		c.Worktrees[i].VCS = *c.Worktrees[i].clone()
	}
	return &c
}

// normalize makes texts UTF-8, the root as short as it can be, keeps the first
// MaxListed files of each list, and counts the others.
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

// cleanRoot is the shortest path to a root.
func cleanRoot(root string) string {
	if root = path.Clean(validText(root)); root == "." {
		return ""
	}
	return root
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// date sets the frame at which each working copy was captured: now, or that of
// before, where the copy is as it was then.
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

// sameCopy reports whether two captures are of the same content, apart from the
// worktrees of tasks.
func (v *VCS) sameCopy(other *VCS) bool {
	a, b := *v, *other
	a.Worktrees, b.Worktrees = nil, nil
	return string(encodeVCS(a)) == string(encodeVCS(b))
}

// worktree is the task's worktree of that name; nil when there is none, as in a nil VCS.
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
