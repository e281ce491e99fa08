package jjbridge

import (
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/snapshot"
)

// The errors that this package's functions wrap. A failed command of git or jj is a *gitexec.Error.
var (
	ErrNoWorkingCopy = errors.New("no working copy")
	ErrNoJJ          = errors.New("jj was not found on PATH")
	ErrJJTooOld      = errors.New("jj is too old")
	ErrBackend       = errors.New("jj repository without a git store")
	ErrNoStore       = errors.New("jj workspace without a repository")
	ErrRefused       = errors.New("restore refused") // the error is always a *RefusedError
	ErrStale         = errors.New("stale working copy")
)

// Workspace is one working copy of a repository: git's main worktree, a linked worktree of git, or a jj workspace,
// colocated with git's worktree or not. Its methods run git and jj in the top folder. A Workspace is safe for
// concurrent use.
type Workspace struct {
	// Repo is the git repository. Repo.WorkTree is Root. In a jj workspace without a .git, Repo.GitDir is
	// Repo.CommonDir.
	Repo gitexec.Repo
	Type string // snapshot.VCSGit or snapshot.VCSJJ; "" without a working copy
	Root string // the top; "" without a working copy
	// Name is the name of a jj workspace, which is "default" for the first workspace. With git, Name is git's id of a
	// linked worktree, or "" for the main worktree.
	Name string
	// NoJJ is true if the folder is also a colocated jj workspace, but PATH has no jj, so the package uses only git.
	NoJJ bool
	// NoMonitor keeps git from the user's file system monitor, which may be among the files of the working copy.
	NoMonitor bool

	main   string   // the top of the main working copy; "" if it is unknown
	jjRepo string   // the .jj/repo folder of the main jj workspace; "" with git
	env    []string // of git and jj
	more   []string // of git alone, after env
}

// Main returns the top folder of the main working copy, or "" if the top is unknown.
func (w *Workspace) Main() string { return w.main }

// JJRepo returns the folder .jj/repo of the main jj workspace, or "" with git.
func (w *Workspace) JJRepo() string { return w.jjRepo }

// Environ returns the environment in which w runs git and jj. The caller must not change the result.
func (w *Workspace) Environ() []string { return w.env }

// WithEnv returns a copy of w that runs git and jj with further entries NAME=value in the environment.
func (w *Workspace) WithEnv(entries ...string) *Workspace {
	other := *w
	other.env = append(slices.Clone(w.env), entries...)
	return &other
}

// WithObjects returns a copy of w whose git writes new objects into the folder dir. It still reads the repository's objects.
func (w *Workspace) WithObjects(dir string) *Workspace {
	other := *w
	other.more = append(slices.Clone(w.more), (&gitindex.Quarantine{Dir: dir}).GitEnv(objectsDir(w.Repo), w.env)...)
	return &other
}

// Tag is the VCS tag of a frame, in the form of Smithers.
type Tag struct {
	VCSType       string  `json:"vcsType"`
	VCSPointer    string  `json:"vcsPointer"`
	VCSRoot       *string `json:"vcsRoot"`
	JJOperationID *string `json:"jjOperationId"` // nil if the operation is unknown, and with git
}

// TagOf returns the tag of a frame whose vcs.json contains v. If v is nil, the tag is nil.
func TagOf(v *snapshot.VCS) *Tag {
	if v == nil {
		return nil
	}
	root, operation := v.Root, v.Operation
	tag := &Tag{VCSType: v.Type, VCSPointer: v.Pointer(), VCSRoot: &root}
	if operation != "" {
		tag.JJOperationID = &operation
	}
	return tag
}
