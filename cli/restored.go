package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// restoreDocument is what restore prints with --json, and revert if it names no attempt.
type restoreDocument struct {
	Kind string `json:"kind"`
	restoredDocument
}

// restoredDocument is what restore and revert have in common.
type restoredDocument struct {
	From    string                `json:"from"`
	Path    string                `json:"path"`
	DryRun  bool                  `json:"dryRun"`
	Changes []jjbridge.PathChange `json:"changes"`
	Saved   *string               `json:"saved"`
	Frame   *string               `json:"frame"`
	Running []string              `json:"running"`
	Beside  []string              `json:"beside"`
	restoredCode
}

// restoredCode says what code it was.
type restoredCode struct {
	VCS     *jjbridge.Tag      `json:"vcs"`
	LeftOut []snapshot.LeftOut `json:"leftOut"`
	Altered []snapshot.Altered `json:"altered"`
}

func codeOf(v *snapshot.VCS) restoredCode {
	code := restoredCode{VCS: jjbridge.TagOf(v), LeftOut: []snapshot.LeftOut{}, Altered: []snapshot.Altered{}}
	if v != nil {
		code.LeftOut = append(code.LeftOut, v.LeftOut...)
		code.Altered = append(code.Altered, v.Altered...)
	}
	return code
}

func describeRestored(done *code.Restored, dryRun bool) restoredDocument {
	return restoredDocument{
		From: done.From.String(), Path: done.Root, DryRun: dryRun, Changes: done.Changes,
		Saved: addressText(done.Saved), Frame: addressText(done.Frame),
		Running: append([]string{}, done.Running...), Beside: append([]string{}, done.Beside...), restoredCode: codeOf(done.VCS),
	}
}

// describeAll describes several restores.
func describeAll(list []*code.Restored) []restoredDocument {
	docs := make([]restoredDocument, len(list))
	for i, one := range list {
		docs[i] = describeRestored(one, false)
	}
	return docs
}

func addressText(at *timeline.Address) *string {
	if at == nil {
		return nil
	}
	return new(at.String())
}

// tellRestored prints the changed paths, and talks about what else there is to know.
func (s *session) tellRestored(ctx context.Context, store *timeline.Store, done *code.Restored, dryRun bool) error {
	p := s.painter(ctx)
	t := term.Table{Header: []string{"CHANGE", "PATH"}}
	for _, change := range done.Changes {
		t.Add(term.Cell{Text: change.Op, Paint: p.change}, term.Cell{Text: change.Path})
	}
	if err := t.Write(s.Terminal); err != nil {
		return err
	}
	s.Note("%s", restoredSummary(done, dryRun))
	if done.Root != store.WorkTree() {
		s.Note("these are the files of its own worktree: %s", plain.Text(done.Root))
	}
	if len(done.Running) > 0 {
		s.Note("not ended yet, in the same files: %s; if it still runs, it goes on with these", besideNames(done.Running))
	}
	s.noteShared(done.Beside)
	s.noteIncomplete(done.VCS)
	if err := s.noteElsewhere(ctx, store, done); err != nil {
		return err
	}
	if before := app.FrameBefore(done); before != nil {
		s.Note("what was there before is %s: `%s` brings it back", plain.Text(before.String()), bringBackCommand(*before, done.Name))
	}
	return nil
}

// bringBackCommand brings back the files that a frame has, of a task's own worktree where one is named.
func bringBackCommand(at timeline.Address, worktree string) string {
	if worktree == "" {
		return fault.CommandLine(program, "restore", at.String())
	}
	return fault.CommandLine(program, "restore", at.String(), "--worktree", worktree)
}

// change paints what becomes of a path.
func (p painter) change(op string) string {
	switch op {
	case jjbridge.OpAdd:
		return p.Paint(term.Green, op)
	case jjbridge.OpRemove:
		return p.Paint(term.Red, op)
	}
	return p.Paint(term.Yellow, op)
}

// restoredSummary is one line that says what a restore did.
func restoredSummary(done *code.Restored, dryRun bool) string {
	from := plain.Text(done.From.String())
	if len(done.Changes) == 0 {
		return "the working copy is what it was at " + from + ": nothing to change"
	}
	counts := make(map[string]int)
	for _, change := range done.Changes {
		counts[change.Op]++
	}
	var parts []string
	for _, op := range []struct{ op, done string }{
		{jjbridge.OpAdd, "added"}, {jjbridge.OpModify, "modified"}, {jjbridge.OpRemove, "removed"},
	} {
		if n := counts[op.op]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, op.done))
		}
	}
	if dryRun {
		return fmt.Sprintf("%s would make the working copy what it was at %s; nothing was changed", strings.Join(parts, ", "), from)
	}
	return fmt.Sprintf("%s: the working copy is what it was at %s", strings.Join(parts, ", "), from)
}

// namesShown is how many of a list of names people see in talk.
const namesShown = 5

// noteShared warns that other tasks may have changed the files that were restored.
func (s *session) noteShared(beside []string) {
	if len(beside) > 0 {
		s.Note("running beside it then, in the same files: %s; what they had done by that time is part of this",
			besideNames(beside))
	}
}

// noteIncomplete tells which files the frame does not have, or not as they were.
func (s *session) noteIncomplete(v *snapshot.VCS) {
	if v == nil {
		return
	}
	if len(v.LeftOut) > 0 {
		s.Note("not captured, so left as they are: %s", listNames(leftOutNames(v.LeftOut)))
	}
	if v.Conflicted {
		s.Note("the change had conflicts then: its files have jj's conflict markers, as text")
	}
}

// noteElsewhere tells that HEAD, or jj's change, is not the one of the frame.
func (s *session) noteElsewhere(ctx context.Context, store *timeline.Store, done *code.Restored) error {
	if done.Frame == nil || done.VCS == nil {
		return nil
	}
	at, err := store.Load(ctx, done.Frame.String())
	if err != nil {
		return err
	}
	now, err := at.Entry.VCSRevision()
	if err != nil || now == nil {
		return err
	}
	then, here := shortRevision(done.VCS.Type, done.VCS.CommitID, done.VCS.ChangeID), shortRevision(now.Type, now.CommitID, now.ChangeID)
	if then == here {
		return nil
	}
	what := "HEAD"
	if now.Type == snapshot.VCSJJ {
		what = "the change"
	}
	s.Note("%s stays at %s; it was at %s then", what, orNone(here), orNone(then))
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return plain.Text(text)
}

// leftOutNames are the files that a capture left out, with the reason of each.
func leftOutNames(list []snapshot.LeftOut) []string {
	names := make([]string, len(list))
	for i, f := range list {
		switch {
		case f.Path == "":
			names[i] = "untracked files (too many)"
		case f.Bytes > 0:
			names[i] = fmt.Sprintf("%s (%s, %d bytes)", f.Path, f.Reason, f.Bytes)
		default:
			names[i] = fmt.Sprintf("%s (%s)", f.Path, f.Reason)
		}
	}
	return names
}

// listNames is a list for people, cut where it is long.
func listNames(names []string) string { return listUpTo(namesShown, names) }

// listUpTo is a list for people of the first names, at most that many, and how many there are besides.
func listUpTo(most int, names []string) string {
	shown := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, plain.Text(name))
	}
	if rest := len(names) - len(shown); rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), rest)
	}
	return strings.Join(shown, ", ")
}
