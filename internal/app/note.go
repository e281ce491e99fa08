package app

import (
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Note is an event that a desk reports while it carries out a request. The method note does nothing: it only marks
// the types that are notes.
type Note interface{ note() }

// CreatedNote notes that a run was created.
type CreatedNote struct{ Run string }

// ForkedNote notes that a run was forked from a frame.
type ForkedNote struct {
	Run  string
	From timeline.Address
}

// ContinuedNote notes that a run continues. If the run has work left, this process has claimed the run.
type ContinuedNote struct{ Head *timeline.Head }

// DefinitionKeptNote notes that a run continues with the workflow stored in it, because the workflow file is
// missing.
type DefinitionKeptNote struct{ Run string }

// FilledNote notes that a worktree was made for a run, with the files of the run's newest frame. Root is the folder
// of the worktree.
type FilledNote struct {
	Run, Root string
	Files     *snapshot.VCS
}

// EquippedNote notes that a new working copy was equipped, or in part if an error follows.
type EquippedNote struct{ files.Equipped }

// CheckedOutNote notes that a working copy was made for a run, with the files of a frame.
type CheckedOutNote struct{ *files.CheckoutResult }

// BroughtBackNote notes that the files of a run's newest frame were restored before the run continues.
type BroughtBackNote struct{ *files.RestoreResult }

// WentBackNote notes that a run went back to an earlier state, before it continues.
type WentBackNote struct{ *travel.Result }

// FrameNote notes a frame of a run that a supervisor executes.
type FrameNote struct {
	Run string
	engine.Progress
}

// FolderMissingNote notes that a new working copy does not have the folder of the request, so that Smithers starts
// in the top folder of the working copy.
type FolderMissingNote struct{ Folder string }

// ExportedNote notes that a run was written to the database of another engine.
type ExportedNote struct{ Database string }

// EngineSaidNote is a line that another engine has written.
type EngineSaidNote struct{ Line string }

func (CreatedNote) note()        {}
func (ForkedNote) note()         {}
func (ContinuedNote) note()      {}
func (DefinitionKeptNote) note() {}
func (FilledNote) note()         {}
func (EquippedNote) note()       {}
func (CheckedOutNote) note()     {}
func (BroughtBackNote) note()    {}
func (WentBackNote) note()       {}
func (FrameNote) note()          {}
func (FolderMissingNote) note()  {}
func (ExportedNote) note()       {}
func (EngineSaidNote) note()     {}
