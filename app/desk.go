package app

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Desk takes requests of one caller about the history of one repository. All fields are required.
type Desk struct {
	Store  *timeline.Store
	Folder Folder           // in which the caller is
	Env    []string         // of tasks and other engines, as os.Environ gives it
	Now    func() time.Time // the clock
	Hurry  context.Context  // when it ends, whatever runs is killed without grace
	Teller Teller
}

// A Teller hears how a request is going, before there is a result. Safe for concurrent use.
type Teller interface {
	// Note is told what has happened.
	Note(context.Context, Note)
	// Warn is told what went wrong without harm to the request.
	Warn(error)
	// While is told what the request waits for. over ends the wait; it can be called twice.
	While(Wait) (over func())
	// Count is told how much of something is done; a total of 0 is unknown.
	Count(Wait) (update func(done, total int), over func())
	// Tasks is told that a run's tasks begin, and then of every frame.
	Tasks(context.Context, *workflow.Workflow) (frame func(engine.Progress), over func())
}

// A Wait is something that may take long, in words.
type Wait string

// The waits of requests.
const (
	ReadingFiles    Wait = "reading the working copy"
	CheckingOut     Wait = "checking the files out"
	RestoringFiles  Wait = "restoring the files"
	GoingBack       Wait = "going back"
	OpeningDatabase Wait = "opening the database"
	ExportingFrames Wait = "exporting frames"
)
