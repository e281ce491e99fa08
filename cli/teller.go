package cli

import (
	"context"
	"sync"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// desk takes the command's requests about a store.
func (s *session) desk(store *timeline.Store) *app.Desk {
	return &app.Desk{Store: store, Folder: s.folder(), Env: s.Env, Now: s.Now, Hurry: s.hurry, Teller: teller{s, store}}
}

// folder is the one in which the command was called.
func (s *session) folder() app.Folder { return app.Folder(s.Dir) }

// A teller tells people how a request is going.
type teller struct {
	s     *session
	store *timeline.Store
}

// Note tells what has happened.
func (t teller) Note(ctx context.Context, note app.Note) {
	s := t.s
	switch note := note.(type) {
	case app.CreatedNote:
		s.Note("run %s", plain.Text(note.Run))
		s.noteEscaped(note.Run)
	case app.ForkedNote:
		s.Note("run %s, forked from %s", plain.Text(note.Run), plain.Text(note.From.String()))
	case app.ContinuedNote:
		row := note.Head.Row()
		s.Note("run %s, from frame %d%s", plain.Text(row.ID), row.Frame, s.inOwnWorktree(t.store, note.Head))
	case app.DefinitionKeptNote:
		s.Note("the workflow file of run %s is not here: it goes on with the definition that it keeps", plain.Text(note.Run))
	case app.FilledNote:
		s.tellFilled(note.Run, note.Root, note.Files)
	case app.CheckedOutNote:
		s.Note("the files of %s are in %s", plain.Text(note.From.String()), plain.Text(note.WorkingCopy.Root()))
		s.noteIncomplete(note.VCS)
	case app.BroughtBackNote:
		s.tellBroughtBack(ctx, t.store, note.Restored)
	case app.WentBackNote:
		s.tellTraveled(ctx, t.store, note.Result, "")
	case app.FrameNote:
		s.Note("  %s: frame %d  %s", plain.Text(note.Run), note.Frame, plain.Text(note.Subject))
	case app.FolderMissingNote:
		s.Note("there is no folder %s in it: Smithers is started at its top", plain.Text(note.Folder))
	case app.ExportedNote:
		s.Note("exported to %s", plain.Text(note.Database))
	case app.EngineSaidNote:
		s.tellEngineLine(note.Line)
	}
}

// Warn tells what went wrong without harm to the request.
func (t teller) Warn(err error) { t.s.Warn(err) }

// While tells what is waited for.
func (t teller) While(what app.Wait) (over func()) { return sync.OnceFunc(t.s.While(string(what))) }

// Count tells how much is done.
func (t teller) Count(what app.Wait) (update func(done, total int), over func()) {
	p := t.s.Progress(string(what))
	return p.Update, p.Finish
}

// Tasks shows the tasks of a run as they wait and end or, where no person looks, a line for every frame.
func (t teller) Tasks(ctx context.Context, wf *workflow.Workflow) (frame func(engine.Progress), over func()) {
	view, end := t.s.viewRun(ctx, wf)
	if view == nil {
		return t.s.tellFrame, end
	}
	return view.tell, end
}

// engineLine is a line that Smithers wrote, for scripts.
type engineLine struct {
	Kind string `json:"kind"`
	Line string `json:"line"`
}

// tellEngineLine passes on a line of another engine, made safe to show.
func (s *session) tellEngineLine(text string) {
	for _, line := range plain.Lines(text) {
		if s.JSON {
			s.TalkJSON(engineLine{"engine", line})
		} else {
			s.Talk("%s\n", line)
		}
	}
}
