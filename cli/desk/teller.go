// Package desk passes the requests of commands to app, and prints the progress and the results for people and scripts.
package desk

import (
	"context"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Open returns the desk that carries out the requests of the command line s on the history in store.
func Open(s *session.Session, store *timeline.Store) *app.Desk {
	return &app.Desk{Store: store, Folder: s.Folder(), Env: s.Env, Now: s.Now, Hurry: s.Hurry, Teller: teller{s, store}}
}

// teller is the app.Teller that prints the progress of a request for people.
type teller struct {
	s     *session.Session
	store *timeline.Store
}

// Note prints an event of the request.
func (t teller) Note(ctx context.Context, note app.Note) {
	s := t.s
	switch note := note.(type) {
	case app.CreatedNote:
		s.Note("run %s", plain.Text(note.Run))
		noteEscaped(s, note.Run)
	case app.ForkedNote:
		s.Note("run %s, forked from %s", plain.Text(note.Run), plain.Text(note.From.String()))
	case app.ContinuedNote:
		row := note.Head.Row()
		s.Note("run %s, from frame %d%s", plain.Text(row.ID), row.Frame, InOwnWorktree(s, t.store, note.Head))
	case app.DefinitionKeptNote:
		s.Note("the workflow file of run %s does not exist in this working copy, so the run continues with its stored workflow", plain.Text(note.Run))
	case app.FilledNote:
		tellFilled(s, note.Run, note.Root, note.Files)
	case app.CheckedOutNote:
		s.Note("the files of %s are in %s", plain.Text(note.From.String()), plain.Text(note.WorkingCopy.Root()))
		NoteIncomplete(s, note.VCS)
	case app.BroughtBackNote:
		tellFiles(ctx, s, t.store, note.Restored, fileWords{
			stayed: "the workflow file was not restored", before: app.FrameBefore(note.Restored),
		})
	case app.WentBackNote:
		TellTraveled(ctx, s, t.store, note.Result, "")
	case app.FrameNote:
		s.Note("  %s: frame %d  %s", plain.Text(note.Run), note.Frame, plain.Text(note.Subject))
	case app.FolderMissingNote:
		s.Note("the new working copy has no folder %s, so Smithers starts in the top folder", plain.Text(note.Folder))
	case app.ExportedNote:
		s.Note("exported to %s", plain.Text(note.Database))
	case app.EngineSaidNote:
		tellEngineLine(s, note.Line)
	}
}

// Warn prints an error that does not harm the request.
func (t teller) Warn(err error) { t.s.Warn(err) }

// While shows the activity of the request until over is called. over may be called twice.
func (t teller) While(what app.Wait) (over func()) { return sync.OnceFunc(t.s.While(string(what))) }

// Count shows a counted activity of the request until over is called. update receives how much of it is done.
func (t teller) Count(what app.Wait) (update func(done, total int), over func()) {
	p := t.s.Progress(string(what))
	return p.Update, p.Finish
}

// Tasks begins to show the tasks of a run with the workflow wf. It returns frame, which the caller calls with every new
// frame, and over, which the caller calls when the run ends or is left. If a person watches, frame shows the tasks that
// changed; otherwise it prints a line for every frame.
func (t teller) Tasks(ctx context.Context, wf *workflow.Workflow) (frame func(engine.Progress), over func()) {
	view, end := viewRun(ctx, t.s, wf)
	if view == nil {
		return func(p engine.Progress) { tellFrame(t.s, p) }, end
	}
	return view.tell, end
}

// engineLine is the JSON document of a line that Smithers wrote.
type engineLine struct {
	Kind string `json:"kind"`
	Line string `json:"line"`
}

// tellEngineLine prints a line of another engine on standard error, without control characters. With --json, it prints
// the line as a document.
func tellEngineLine(s *session.Session, text string) {
	for _, line := range plain.Lines(text) {
		if s.JSON {
			s.TalkJSON(engineLine{"engine", line})
		} else {
			s.Talk("%s\n", line)
		}
	}
}

// noteEscaped notes the name of the run's git ref if this name does not end with the run's id. This is so if git does
// not allow the id in a name, and the id is therefore escaped.
func noteEscaped(s *session.Session, id string) {
	if name, err := refs.Tip(id); err == nil && !strings.HasSuffix(string(name), "/"+id) {
		s.Note("the git ref of run %s is %s", fault.Word(plain.Text(id)), name)
	}
}
