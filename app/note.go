package app

import (
	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/travel"
)

// A Note is one thing that happened while a request is carried out.
type Note interface{ note() }

// Created notes that a run was made.
type Created struct{ Run string }

// Forked notes that a run was made of another one's frame.
type Forked struct {
	Run  string
	From timeline.Address
}

// Continued notes that a run continues, and is claimed if anything of it is left.
type Continued struct{ Head *timeline.Head }

// DefinitionKept notes that the workflow file of a run is not here, so that the run continues with the definition that it
// keeps.
type DefinitionKept struct{ Run string }

// Filled notes that a worktree was made for a run, with the files of its newest frame.
type Filled struct {
	Run, Root string
	Files     *snapshot.VCS
}

// CheckedOut notes that a working copy was made for a run, with the files of a frame.
type CheckedOut struct{ *timeline.CheckedOut }

// BroughtBack notes that the files of a run's newest frame were restored before it continues.
type BroughtBack struct{ *timeline.Restored }

// WentBack notes that a run went back, before it continues.
type WentBack struct{ *travel.Result }

// SupervisedFrame notes a frame of a run that a supervisor executes.
type SupervisedFrame struct {
	Run string
	engine.Progress
}

// FolderMissing notes that the folder of the request is not in a new working copy, so that the engine is started at its top.
type FolderMissing struct{ Folder string }

// Exported notes that a run was written to the database of another engine.
type Exported struct{ Database string }

// EngineSaid is a line that another engine has written.
type EngineSaid struct{ Line string }

func (Created) note()         {}
func (Forked) note()          {}
func (Continued) note()       {}
func (DefinitionKept) note()  {}
func (Filled) note()          {}
func (CheckedOut) note()      {}
func (BroughtBack) note()     {}
func (WentBack) note()        {}
func (SupervisedFrame) note() {}
func (FolderMissing) note()   {}
func (Exported) note()        {}
func (EngineSaid) note()      {}
