package app

import (
	"context"
	"errors"
	"slices"
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
}

// agree asks for consent to run the command on the files of the newest frame of each run of the line, before anything runs.
func (b *bisection) agree(ctx context.Context) error {
	if b.When != nil {
		return nil
	}
	last := len(b.line) - 1
	for i := last; i >= b.firstPlace(); i-- {
		if i != last && b.line[i].Run == b.line[i+1].Run {
			continue
		}
		entry, err := b.entryOf(ctx, i)
		if err == nil {
			err = b.agreeTo(entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agreeTo asks for consent to run the command on the files of a run up to a frame: once for each run, as agree begins with its newest frame.
func (b *bisection) agreeTo(entry *snapshot.Entry) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	run := entry.Stored().Run
	if b.agreed[run] {
		return nil
	}
	defer func() { b.agreed[run] = err == nil }()
	check := &filesCheck{Desk: b.Desk, FilesTrust: b.FilesTrust, entry: entry, brought: true}
	return check.agreeToFiles([]command{{Command: b.shellLine()}})
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

// probe probes a step in the worktree of a slot. A frame without files is skipped.
func (b *bisection) probe(ctx context.Context, slot, step int) (out probed, err error) {
	at := b.line[b.steps[step].first]
	entry, err := b.entryOf(ctx, b.steps[step].first)
	if err != nil {
		return out, err
	}
	state, err := stateexpr.Of(at.Address, entry)
	if err != nil {
		return out, err
	}
	if b.When != nil {
		bad, err := b.When.Holds(state)
		if out.verdict = bisect.Good; bad {
			out.verdict = bisect.Bad
		}
		return out, err
	}
	if at.Tree().IsZero() {
		return probed{verdict: bisect.Skip}, nil
	}
	if err := b.agreeTo(entry); err != nil { // the entries of a run can have been written for another one
		return out, err
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
	for range max(b.Repeat, 1) {
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
		b.scratches[slot] = nil
		if err := old.Close(ctx); err != nil {
			return "", err
		}
	}
	scratch, err := files.OpenScratch(ctx, b.Store, entry)
	if err != nil {
		return "", err
	}
	b.scratches[slot] = scratch
	if err := scratch.Become(ctx, entry); err != nil {
		return "", err
	}
	_, err = b.Equip(ctx, scratch.WorkingCopy, files.Equipment{Confined: confined})
	return scratch.Root(), err
}

// closeScratches removes the worktrees.
func (b *bisection) closeScratches(ctx context.Context) (err error) {
	for _, scratch := range slices.DeleteFunc(b.scratches, func(s *files.Scratch) bool { return s == nil }) {
		err = errors.Join(err, scratch.Close(ctx))
	}
	return err
}
