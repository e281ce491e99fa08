package requests

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// effectsShown is how many effects a question or an error lists.
const effectsShown = 50

// ForceFlag returns the flag --force of a command that may step over effects.
func ForceFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "force", Usage: "go on although tasks had effects outside the run that stay done"}
}

// UndoEffectsFlag returns the flag --undo-effects of a command that goes back.
func UndoEffectsFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "undo-effects", Usage: "afterwards run the commands that undo these effects"}
}

// ConfirmEffects returns the function that decides whether a command steps over effects. With force, it lists them and goes on. At a terminal,
// it asks. Otherwise its error is effects_ahead. If undo is true, the commands that undo the effects are listed, too, and agreeing is consent
// to run them; without a terminal, that needs yes.
func ConfirmEffects(s *session.Session, force, undo, yes bool) timeline.ConfirmEffects {
	return func(_ context.Context, effects []snapshot.ToolCall) error {
		what := plain.Count(len(effects), "effect") + " outside the run"
		lines := effectLines(effects, undo)
		switch {
		case force && !undo, yes && undo:
			s.Note("%s stay done:", what)
			for _, line := range lines {
				s.Note("  %s", line)
			}
			return nil
		case s.CanAsk():
			s.Talk("Tasks that would run again had %s:\n", what)
			for _, line := range lines {
				s.Talk("  %s\n", line)
			}
			question := "Go on? They stay done."
			if undo {
				question = "Go on, and then run these commands?"
			}
			agreed, err := s.Ask(question)
			if err != nil || agreed {
				return err
			}
			return fault.New(fault.EffectsAhead, "you did not confirm to step over %s", what).Hint("nothing was changed")
		}
		out := fault.New(fault.EffectsAhead, "tasks that would run again had %s, which stay done", what)
		if undo {
			out = out.Hint("add --yes to run these commands afterwards")
		} else {
			out = out.Hint("add --force to go on")
		}
		for _, line := range lines {
			out = out.Hint("%s", line)
		}
		return out.Detail("effects", effects)
	}
}

// effectLines returns a line for each effect, with the command that undoes it if undo is true.
func effectLines(effects []snapshot.ToolCall, undo bool) []string {
	var lines []string
	for _, call := range effects[:min(len(effects), effectsShown)] {
		line := display.AttemptName(plain.Text(call.NodeID), call.Iteration) + ": " + plain.Text(plain.Cut(call.ToolName, 100))
		if call.Input != nil {
			line += " " + plain.Text(plain.Cut(plain.Words(string(call.Input)), 200))
		}
		if call.Status != snapshot.ToolCallSucceeded {
			line += " (it may not have happened)"
		}
		switch {
		case undo && call.Revert != "":
			line += "; undone by: " + plain.Text(plain.Words(call.Revert))
		case undo:
			line += "; nothing undoes it"
		}
		lines = append(lines, line)
	}
	if more := len(effects) - effectsShown; more > 0 {
		lines = append(lines, "and "+plain.Count(more, "more effect"))
	}
	return lines
}
