package app

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Desk carries out the requests of one caller on the history of one repository. All fields but Courier and Collector are
// required.
type Desk struct {
	Store  *timeline.Store
	Folder Folder           // the folder of the caller
	Env    []string         // the environment of tasks and other engines, as os.Environ returns it
	Now    func() time.Time // the clock
	Hurry  context.Context  // when it ends, running tasks and engines are killed at once
	Teller Teller
	// Collector starts a process that outlives this one and sends the traces that wait. nil: no collector is named, and none wait.
	Collector func() error
	// Courier starts a process that outlives this one and calls notify.Deliver. nil: nobody is notified.
	Courier func() error
}

// A Teller receives the progress of a request. It must be safe for concurrent use.
type Teller interface {
	// Note receives an event.
	Note(context.Context, Note)
	// Warn receives an error that does not harm the request.
	Warn(error)
	// While begins a wait. over ends the wait, and may be called more than once.
	While(Wait) (over func())
	// Count begins a wait with a counter. update receives the value of the counter and its end value, or 0 if the end
	// value is unknown. over ends the wait.
	Count(Wait) (update func(done, total int), over func())
	// Tasks begins to show the tasks of a run. frame receives every new frame. over ends the display.
	Tasks(context.Context, *workflow.Workflow) (frame func(engine.Progress), over func())
}

// A Wait names an activity that may take long, for people.
type Wait string

// The waits of requests.
const (
	ReadingFiles    Wait = "reading the working copy"
	CheckingOut     Wait = "checking the files out"
	BringingFiles   Wait = "bringing ignored files"
	SettingUp       Wait = "running the setup command"
	RestoringFiles  Wait = "restoring the files"
	GoingBack       Wait = "going back"
	Landing         Wait = "merging"
	OpeningDatabase Wait = "opening the database"
	ExportingFrames Wait = "exporting frames"
	Scoring         Wait = "scoring"
)
