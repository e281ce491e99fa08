package app

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// lineFrame is a frame on the way to the bad frame.
type lineFrame struct {
	timeline.Address
	list.FrameInfo
}

// bisectStep is frames of the line, one after the other, that have the same files and the same state: a probe of one says what it would of the others.
type bisectStep struct{ first, last int }

// readRun sets run.
func (b *bisection) readRun(ctx context.Context) (err error) {
	b.run, err = agent.Session(ctx, b.Store, b.BisectRequest.Run)
	return err
}

// readLine sets run, line, steps and good.
func (b *bisection) readLine(ctx context.Context) error {
	if err := b.readRun(ctx); err != nil {
		return err
	}
	bad, err := b.Store.Newest(ctx, b.run)
	if err != nil {
		return err
	}
	if b.Bad != "" && !agent.IsTurnID(b.Bad) {
		if bad, err = b.Store.Load(ctx, b.address(b.Bad)); err != nil {
			return err
		}
	}
	if b.line, err = lineTo(ctx, b.Store, bad.Address); err != nil {
		return timeline.Explain(err)
	}
	if agent.IsTurnID(b.Bad) {
		at, err := b.place(ctx, b.Bad)
		if err != nil {
			return err
		}
		b.line = b.line[:at+1]
	}
	good := -1
	if b.Good != "" {
		if good, err = b.place(ctx, b.Good); err != nil {
			return err
		}
	}
	for i, f := range b.line {
		if n := len(b.steps); n > 0 && b.When == nil && b.line[i-1].Tree() == f.Tree() && b.line[i-1].ContentHash == f.ContentHash {
			b.steps[n-1].last = i
		} else {
			b.steps = append(b.steps, bisectStep{i, i})
		}
		if i == good {
			b.good = len(b.steps) - 1
		}
	}
	if b.good == len(b.steps)-1 {
		return fault.New(fault.Usage, "%s and %s have the same files and the same state", b.line[good].Address, b.line[len(b.line)-1].Address).
			Hint("name a good frame that is older than the bad one")
	}
	return nil
}

// address returns the address for what a person types for a frame.
func (b *bisection) address(text string) string {
	if strings.Trim(text, "0123456789") == "" {
		return b.run + ":" + text
	}
	return text
}

// place returns the place in the line of what a person types for a frame. turn:N is the end of a turn.
func (b *bisection) place(ctx context.Context, text string) (int, error) {
	if agent.IsTurnID(text) {
		return b.endOfTurn(text)
	}
	at, err := b.Store.Load(ctx, b.address(text))
	if err != nil {
		return 0, err
	}
	found := slices.IndexFunc(b.line, func(f lineFrame) bool { return f.Address == at.Address || f.Commit == at.Entry.ID.String() })
	if found < 0 {
		return 0, fault.New(fault.Usage, "%s is not among the frames that lead to %s", at.Address, b.line[len(b.line)-1].Address).
			Hint("`%s` shows the frames, and from which run a fork comes", fault.CommandLine(fault.Program, "timeline", b.run)).
			Detail("runId", at.Address.Run).Detail("frame", at.Address.Frame)
	}
	return found, nil
}

// endOfTurn returns the place of the last frame of a turn.
func (b *bisection) endOfTurn(id string) (int, error) {
	at := slices.IndexFunc(b.line, func(f lineFrame) bool { return slices.Contains(f.IDs, id) })
	if at < 0 {
		return 0, fault.New(fault.FrameNotFound, "run %q has no %s", b.run, id).
			Hint("`%s` lists the turns", fault.CommandLine(fault.Program, "timeline", b.run)).Detail("runId", b.run)
	}
	for at+1 < len(b.line) && !slices.ContainsFunc(b.line[at+1].IDs, agent.IsTurnID) {
		at++
	}
	return at, nil
}

// turnAt returns the number of the turn of the frame at a place, or 0 if there is none.
func (b *bisection) turnAt(place int) int {
	for ; place >= 0; place-- {
		for _, id := range b.line[place].IDs {
			if turn, err := strconv.Atoi(strings.TrimPrefix(id, "turn:")); err == nil && id == agent.TurnID(turn) {
				return turn
			}
		}
	}
	return 0
}

// lineTo returns the frames that lead to a frame, which is the last of them: those of its run that were not dropped on the way, and before them those of the
// run from which it was forked, and so on.
func lineTo(ctx context.Context, store *timeline.Store, to timeline.Address) (line []lineFrame, err error) {
	seen := make(map[string]bool) // a forged history may lead back to itself
	for from := &to; from != nil && !seen[from.Run]; {
		seen[from.Run] = true
		tree, err := list.Timeline(ctx, store, from.Run, list.TreeOptions{All: true})
		if code := fault.CodeOf(err); len(line) > 0 && (code == fault.RunNotFound || code == fault.RunPruned) {
			break // the parent is not here: the fork has its last frame
		}
		if err != nil {
			return nil, err
		}
		frames := tree.Timeline.Frames
		for number := new(from.Frame); number != nil; {
			at := slices.IndexFunc(frames, func(f list.FrameInfo) bool { return f.FrameNo == *number })
			if at < 0 {
				break
			}
			f := frames[at]
			if n := len(line); n > 0 && line[n-1].Commit == f.Commit {
				line = line[:n-1] // the frame from which a fork began is its frame 0, too
			}
			line = append(line, lineFrame{timeline.Address{Run: from.Run, Frame: f.FrameNo}, f})
			frames, number = frames[:at], f.BasedOn
		}
		if from = nil; tree.Timeline.Branch != nil {
			from = &timeline.Address{Run: tree.Timeline.Branch.ParentRunID, Frame: tree.Timeline.Branch.ParentFrameNo}
		}
	}
	slices.Reverse(line)
	if len(line) == 0 {
		return nil, fault.New(fault.FrameNotFound, "run %q has no frame %d", to.Run, to.Frame)
	}
	return line, nil
}

// entryOf reads the entry of a frame of the line. Code: conflict if the frame is another one now.
func (b *bisection) entryOf(ctx context.Context, place int) (*snapshot.Entry, error) {
	f := b.line[place]
	at, err := b.Store.At(ctx, f.Address)
	if err != nil {
		return nil, err
	}
	if at.Entry.ID.String() != f.Commit {
		return nil, fault.New(fault.Conflict, "the frame %s has changed while it was looked at", f.Address).Hint("type the command again")
	}
	return at.Entry, nil
}
