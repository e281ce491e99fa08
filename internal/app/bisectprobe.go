package app

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/app/stateexpr"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The exit statuses of the commands of probes, as git bisect run has them.
const (
	exitSkip = 125
	exitEnd  = 128 // and more
)

// probed is the result of a probe.
type probed struct {
	verdict  bisect.Verdict
	statuses []int
	had      bool // the log had it
}

// agree asks for consent to run the command on the files of each run of the line, up to the newest of the frames in question, before anything runs.
func (b *bisection) agree(ctx context.Context) error {
	agreed := make(map[string]bool)
	for place := len(b.line) - 1; place >= b.firstPlace(); place-- {
		entry, err := b.entryOf(ctx, place)
		if err != nil {
			return err
		}
		if run := entry.Stored().Run; !agreed[run] {
			agreed[run] = true
			check := &filesCheck{Desk: b.Desk, FilesTrust: b.FilesTrust, entry: entry, brought: true}
			if err := check.agreeToFiles([]command{{Command: b.shellLine()}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// shellLine returns the command for sh. A single word is a line for the shell.
func (b *bisection) shellLine() string {
	if len(b.Command) == 1 {
		return b.Command[0]
	}
	words := make([]string, len(b.Command))
	for i, word := range b.Command {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// ask returns the verdict of a step that the log has, or probes it in the worktree of a slot. A frame without files is skipped.
func (b *bisection) ask(ctx context.Context, slot, step int) (out probed, err error) {
	if verdict, had := b.known[step]; had {
		return probed{verdict: verdict, had: true}, nil
	}
	at := b.line[b.steps[step].first]
	entry, err := b.entryOf(ctx, b.steps[step].first)
	if err != nil {
		return out, err
	}
	state, err := stateexpr.Of(at.Address, entry)
	if err != nil {
		return out, err
	}
	switch {
	case b.When != nil:
		bad, err := b.When.Holds(state)
		if out.verdict = bisect.Good; bad {
			out.verdict = bisect.Bad
		}
		return out, err
	case at.Tree().IsZero():
		return probed{verdict: bisect.Skip}, nil
	}
	opts, err := b.besideOptions(entry)
	if err != nil {
		return out, err
	}
	stdin, err := jsontext.Encode(state)
	if err != nil {
		return out, timeline.Explain(err)
	}
	run := engine.Probe{Run: at.Run, Frame: at.Address.Frame, Line: b.shellLine(), Stdin: append(stdin, '\n'), Output: b.Output}
	var said []bisect.Verdict
	for range b.Repeat {
		if run.Dir, err = b.filesAt(ctx, slot, entry, opts.SandboxRequired); err != nil {
			return out, err
		}
		status, err := run.Execute(ctx, opts)
		if err != nil {
			return out, timeline.Explain(err)
		}
		if status >= exitEnd {
			return out, fault.New(fault.ProbeFailed, "the command ended with status %d at %s, so the bisect ends", status, at.Address).
				Hint("0 is good, 125 skips the frame, other statuses below 128 are bad; the verdicts are kept, and the same command goes on").
				Detail("runId", at.Run).Detail("frame", at.Address.Frame).Detail("status", status)
		}
		out.statuses = append(out.statuses, status)
		said = append(said, verdictOf(status))
		if out.verdict = bisect.Of(said); out.verdict == bisect.Flaky {
			break
		}
	}
	return out, nil
}

// verdictOf returns what an exit status says.
func verdictOf(status int) bisect.Verdict {
	switch status {
	case 0:
		return bisect.Good
	case exitSkip:
		return bisect.Skip
	}
	return bisect.Bad
}

// filesAt puts the files of a frame into the worktree of a slot, and returns its folder. If there is no worktree, or what a command has left there is in the
// way, it makes and equips a new one.
func (b *bisection) filesAt(ctx context.Context, slot int, entry *snapshot.Entry, confined bool) (dir string, err error) {
	old := b.scratches[slot]
	if old != nil && old.Become(ctx, entry) == nil {
		return old.Root(), nil
	}
	if old != nil {
		if err := old.Close(ctx); err != nil {
			return "", err
		}
	}
	b.scratches[slot], err = files.OpenScratch(ctx, b.Store, entry)
	if err != nil {
		return "", err
	}
	_, err = b.Equip(ctx, b.scratches[slot].WorkingCopy, files.Equipment{Confined: confined})
	return b.scratches[slot].Root(), err
}

// closeScratches removes the worktrees.
func (b *bisection) closeScratches(ctx context.Context) (err error) {
	for _, scratch := range b.scratches {
		if scratch != nil {
			err = errors.Join(err, scratch.Close(ctx))
		}
	}
	return err
}
