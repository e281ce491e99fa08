// Package requests passes the requests of commands to app, and prints the progress and the results for people and scripts.
package requests

import (
	"context"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Open returns a desk, which carries out the requests of a command line. s is the session of the command line, and
// store has the history.
func Open(s *session.Session, store *timeline.Store) *app.Desk {
	return &app.Desk{Store: store, Folder: s.Folder(), Env: s.Env, Now: s.Now, Hurry: s.Hurry, Teller: teller{s, store}, Courier: Courier(s), Collector: Collector(s)}
}

// teller is the app.Teller that prints the progress of a request for people.
type teller struct {
	s     *session.Session
	store *timeline.Store
}

// Note prints the event note of the request on standard error. It ignores a note of an unknown type.
func (t teller) Note(ctx context.Context, note app.Note) {
	s := t.s
	switch note := note.(type) {
	case app.CreatedNote:
		s.Note("run %s", plain.Text(note.Run))
		noteEscaped(s, note.Run)
	case app.ForkedNote:
		s.Note("run %s, forked from %s", plain.Text(note.Run), plain.Text(note.From.String()))
	case app.BisectProbeNote:
		s.Note("probe %d of about %d: %s is %s", note.Done, note.About, plain.Text(note.Frame.String()), note.Verdict)
	case app.ContinuedNote:
		row := note.Head.Row()
		s.Note("run %s, from frame %d%s", plain.Text(row.ID), row.Frame, InOwnWorktree(s, t.store, note.Head))
	case app.ApprovedElsewhereNote:
		by := "somebody"
		if note.DecidedBy != nil {
			by = *note.DecidedBy
		}
		s.Note("run %s comes from another clone, and %s (%s) is approved, by %s", plain.Text(note.Run), plain.Text(note.NodeID), plain.OneLine(note.Title), plain.OneLine(by))
	case app.DefinitionKeptNote:
		s.Note("the workflow file of run %s does not exist in this working copy, so the run continues with its stored workflow", plain.Text(note.Run))
	case app.FilledNote:
		tellFilled(s, note.Run, note.Root, note.Files)
	case app.CheckedOutNote:
		s.Note("the files of %s are in %s", plain.Text(note.From.String()), plain.Text(note.WorkingCopy.Root()))
		NoteIncomplete(s, note.VCS)
	case app.EquippedNote:
		tellEquipped(s, note.Equipped)
	case app.BroughtBackNote:
		tellFiles(ctx, s, t.store, note.RestoreResult, fileWords{
			stayed: "the workflow file was not restored", before: app.FrameBefore(note.RestoreResult),
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

// Warn prints err as a warning. The request continues.
func (t teller) Warn(err error) { t.s.Warn(err) }

// While shows the activity what on standard error until the caller calls over. The caller may call over more than once.
func (t teller) While(what app.Wait) (over func()) { return sync.OnceFunc(t.s.While(string(what))) }

// Count shows the activity what on standard error until the caller calls over. The caller calls update after each step,
// with the number of finished steps and the number of all steps.
func (t teller) Count(what app.Wait) (update func(done, total int), over func()) {
	p := t.s.Progress(string(what))
	return p.Update, p.Finish
}

// Tasks begins to show the tasks of a run with the workflow wf. The caller must call frame after every new frame, and
// over when the run ends or when the process leaves it. If a person reads standard error, frame shows the tasks that
// changed. Otherwise frame prints a line about the new frame.
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

// tellEngineLine prints text on standard error, without control characters. text is a line that another engine wrote.
// With --json, tellEngineLine prints the line as a JSON document.
func tellEngineLine(s *session.Session, text string) {
	for _, line := range plain.Lines(text) {
		if s.JSON {
			s.TalkJSON(engineLine{"engine", line})
		} else {
			s.Talk("%s\n", line)
		}
	}
}

// noteEscaped notes the name of the run's git ref if this name does not end with the run's id. Git does not allow some
// ids in the name of a ref; the name then has the id in an escaped form. id is the id of the run.
func noteEscaped(s *session.Session, id string) {
	if name, err := refs.Tip(id); err == nil && !strings.HasSuffix(string(name), "/"+id) {
		s.Note("the git ref of run %s is %s", fault.Word(plain.Text(id)), name)
	}
}
