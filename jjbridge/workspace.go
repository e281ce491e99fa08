package jjbridge

import (
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Errors of this package. Errors of git and jj are *gitexec.Error.
var (
	ErrNoWorkingCopy = errors.New("no working copy")
	ErrNoJJ          = errors.New("jj was not found on PATH")
	ErrJJTooOld      = errors.New("jj is too old")
	ErrBackend       = errors.New("jj repository without a git store")
	ErrNoStore       = errors.New("jj workspace without a repository")
	ErrRefused       = errors.New("restore refused") // always a *RefusedError
	ErrStale         = errors.New("stale working copy")
)

// Workspace is one working copy of a repository: git's main or a linked worktree, or a jj
// workspace, colocated with git's worktree or not. It runs git and jj in its top folder. Safe for
// concurrent use.
type Workspace struct {
	// Repo is the shared git store. WorkTree is Root; in a jj workspace without a
	// .git, GitDir is CommonDir.
	Repo gitexec.Repo
	Type string // snapshot.VCSGit or snapshot.VCSJJ; "" without a working copy
	Root string // the top; "" without a working copy
	Name string // jj's name of the workspace, "default" for the first; git's id of a linked worktree, "" for the main one
	// NoJJ is true if the folder is a colocated jj workspace, too, and there is no jj on PATH, so
	// that git is used alone.
	NoJJ bool

	main   string // the top of the main working copy; "" if it is unknown
	jjRepo string // jj's .jj/repo folder, that of the main workspace; "" with git
	env    []string
}

// Main returns the top folder of the main working copy, or "" if it is unknown.
func (w *Workspace) Main() string { return w.main }

// JJRepo returns jj's folder .jj/repo of the main workspace, or "" with git.
func (w *Workspace) JJRepo() string { return w.jjRepo }

// Environ returns the environment in which w runs git and jj. The caller must not change it.
func (w *Workspace) Environ() []string { return w.env }

// WithEnv returns the same working copy with more entries NAME=value in its environment.
func (w *Workspace) WithEnv(entries ...string) *Workspace {
	other := *w
	other.env = append(slices.Clone(w.env), entries...)
	return &other
}

// Tag is the VCS tag of a frame, as Smithers calls it.
type Tag struct {
	VCSType       string  `json:"vcsType"`
	VCSPointer    string  `json:"vcsPointer"`
	VCSRoot       *string `json:"vcsRoot"`
	JJOperationID *string `json:"jjOperationId"`
}

// TagOf returns the tag of a frame whose vcs.json is v, or nil for nil.
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
