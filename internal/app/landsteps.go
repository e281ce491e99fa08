package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// landSteps returns the steps of a landing, one for each working copy, and the address of the landed frame. For the purpose
// ToChange, req.Run must have the whole id of the run.
func (d *Desk) landSteps(ctx context.Context, req LandRequest, purpose timeline.Purpose) ([]land.Step, timeline.Address, error) {
	names := req.Worktrees
	if len(names) == 0 {
		names = []string{""}
	}
	at, err := d.Store.LoadFor(ctx, req.Run, purpose) // once: all worktrees are those of one frame
	if err != nil {
		return nil, timeline.Address{}, err
	}
	var steps []land.Step
	for _, name := range names {
		to, err := land.FilesAt(at, name)
		if err != nil {
			return nil, timeline.Address{}, err
		}
		from, err := d.landFrom(ctx, req.From, to.Address.Run, name)
		if err == nil && req.From != "" {
			err = land.Since(ctx, d.Store, from, to)
		}
		if err != nil {
			return nil, timeline.Address{}, err
		}
		step := land.Step{From: from, To: to}
		if name == "" {
			err = d.checkShared(ctx, req, &step)
		}
		if err != nil {
			return nil, timeline.Address{}, err
		}
		steps = append(steps, step)
	}
	return steps, at.Address, nil
}

// checkShared refuses to land what others may have changed, or leaves it out of the step with req.Own.
func (d *Desk) checkShared(ctx context.Context, req LandRequest, step *land.Step) error {
	if req.Own {
		at, err := d.Store.At(ctx, step.To.Address)
		if err != nil {
			return err
		}
		own, err := agent.OwnPaths(at, d.Store.Workspace().Root)
		if err != nil {
			return err
		}
		return step.Only(ctx, d.Store, own)
	}
	if req.Shared {
		return nil
	}
	shared, err := files.SharedSince(ctx, d.Store, step.From.Commit, step.To.Commit)
	if err != nil || shared == nil {
		return err
	}
	return shared.Refusal(fault.LandRefused, step.To.Address.String()+" was not landed")
}

// landFrom returns the files since which changes are landed. text is an address or the number of a frame of the run, or ""
// for the first frame of the run with files.
func (d *Desk) landFrom(ctx context.Context, text, run, worktree string) (land.Files, error) {
	switch {
	case text == "":
		return land.FirstFiles(ctx, d.Store, run, worktree)
	case strings.Trim(text, "0123456789") == "":
		text = run + ":" + text
	}
	at, err := d.Store.Load(ctx, text)
	if err != nil {
		return land.Files{}, err
	}
	return land.FilesAt(at, worktree)
}

// filesOf returns the files of the frame at an address.
func (d *Desk) filesOf(ctx context.Context, address timeline.Address) (land.Files, error) {
	at, err := d.Store.At(ctx, address)
	if err != nil {
		return land.Files{}, err
	}
	return land.FilesAt(at, "")
}

// turnSteps splits a step of a session into the steps of its turns.
func (d *Desk) turnSteps(ctx context.Context, summary *summary, whole land.Step) ([]land.Step, error) {
	if summary.dialogue == nil {
		return nil, errNoTurns(whole.To.Address.Run)
	}
	at, err := d.Store.At(ctx, whole.To.Address)
	if err != nil {
		return nil, err
	}
	dialogue, err := agent.DialogueAt(ctx, d.Store, at, whole.From.Commit)
	if err != nil {
		return nil, err
	}
	for i, turn := range dialogue.Turns {
		dialogue.Turns[i].Prompt = summary.hide(turn.Prompt)
	}
	var steps []land.Step
	from := whole.From
	for _, turn := range dialogue.Turns {
		if turn.Frame == snapshot.NoFrame {
			continue
		}
		at := timeline.Address{Run: turn.Run, Frame: turn.Frame}
		to, err := d.filesOf(ctx, at)
		if code := fault.CodeOf(err); err != nil && (code == fault.NoCode || code == fault.RunNotFound) {
			continue // the next turn brings what this one changed
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, land.Step{From: from, To: to, Message: summary.turnMessage(turn, at)})
		from = to
	}
	if len(steps) == 0 {
		return nil, fault.New(fault.NoCode, "no turn of %s has files", whole.To.Address).Hint("land it without --each-turn")
	}
	return steps, nil
}

// trailers are the lines at the end of a commit's message by which the commit leads back to the frame.
func trailers(at timeline.Address, worktrees []string, coAuthor string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Smithers-Run: %s\nSmithers-Frame: %s\n", oneLine(at.Run), oneLine(at.String()))
	for _, name := range worktrees {
		out.WriteString("Smithers-Worktree: " + oneLine(name) + "\n")
	}
	if coAuthor != "" {
		out.WriteString("Co-authored-by: " + coAuthor + "\n")
	}
	return out.String()
}
