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
	err      error
}

// agree asks for consent to run the command on the files of each run of the line, up to the newest of the frames in question, before anything runs.
func (b *bisection) agree() error {
	agreed := make(map[string]bool)
	for place := len(b.line) - 1; place >= b.firstPlace(); place-- {
		entry, err := b.entryOf(place)
		if err != nil {
			return timeline.Explain(err)
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
func (b *bisection) ask(ctx context.Context, slot, step int) (out probed) {
	if out.verdict, out.had = b.known[step]; out.had {
		return out
	}
	at := b.line[b.steps[step].first]
	entry, err := b.entryOf(b.steps[step].first)
	if err != nil {
		return probed{err: err}
	}
	state, err := stateexpr.Of(at.Address(), entry)
	if err != nil {
		return probed{err: err}
	}
	if b.When != nil {
		bad, err := b.When.Holds(state)
		if out = (probed{verdict: bisect.Good, err: err}); bad {
			out.verdict = bisect.Bad
		}
		return out
	}
	if at.Tree().IsZero() {
		return probed{verdict: bisect.Skip}
	}
	stdin, err := jsontext.Encode(state)
	if err != nil {
		return probed{err: err}
	}
	return b.probe(ctx, slot, entry, engine.Probe{Run: at.RunID, Frame: at.FrameNo, Line: b.shellLine(), Stdin: append(stdin, '\n'), Output: b.Output})
}

// probe runs the command on the files of an entry, until the results differ, or as often as was asked.
func (b *bisection) probe(ctx context.Context, slot int, entry *snapshot.Entry, run engine.Probe) (out probed) {
	opts, err := b.besideOptions(entry)
	if err != nil {
		return probed{err: err}
	}
	var said []bisect.Verdict
	for len(said) < b.Repeat && out.verdict != bisect.Flaky {
		if run.Dir, err = b.filesAt(ctx, slot, entry, opts.SandboxRequired); err != nil {
			return probed{err: err}
		}
		status, err := run.Execute(ctx, opts)
		if err != nil {
			return probed{err: err}
		}
		verdict := bisect.Bad
		switch {
		case status >= exitEnd:
			return probed{err: fault.New(fault.ProbeFailed, "the command ended with status %d at %s:%d, so the bisect ends", status, run.Run, run.Frame).
				Hint("0 is good, 125 skips the frame, other statuses below 128 are bad; the verdicts are kept, and the same command goes on").
				Detail("runId", run.Run).Detail("frame", run.Frame).Detail("status", status)}
		case status == exitSkip:
			verdict = bisect.Skip
		case status == 0:
			verdict = bisect.Good
		}
		out.statuses, said = append(out.statuses, status), append(said, verdict)
		out.verdict = bisect.Of(said)
	}
	return out
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
