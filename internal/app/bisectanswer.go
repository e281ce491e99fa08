package app

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// BisectFrame is a frame in a BisectResult.
type BisectFrame struct {
	RunID   string         `json:"runId"`
	FrameNo int64          `json:"frameNo"`
	Subject string         `json:"subject"`
	Commit  string         `json:"commit"`
	Verdict bisect.Verdict `json:"verdict,omitempty"` // of a suspect
}

// Address returns the address of the frame.
func (f BisectFrame) Address() timeline.Address {
	return timeline.Address{Run: f.RunID, Frame: f.FrameNo}
}

// BisectResult is the result of a BisectRequest.
type BisectResult struct {
	RunID    string        `json:"runId"`
	FirstBad *BisectFrame  `json:"firstBad"`         // nil if it is one of Suspects
	LastGood *BisectFrame  `json:"lastGood"`         // nil if even the first frame is bad
	Suspects []BisectFrame `json:"suspects"`         // frames that were skipped, and the first frame that is known to be bad; empty if FirstBad is set
	Turn     int           `json:"turn,omitempty"`   // of FirstBad, in a session
	Prompt   string        `json:"prompt,omitempty"` // of the turn

	// What FirstBad has changed, compared with the frame before it.
	Attempts []snapshot.Attempt  `json:"attempts"` // that it has, and the frame before lacks or has in another state
	Files    []files.FileCount   `json:"files"`    // of the run's working copy
	Outputs  []list.OutputChange `json:"outputs"`

	Frames int           `json:"frames"` // from the one that was said to be good to the one that was bad first
	Probes int           `json:"probes"`
	Known  int           `json:"known"` // verdicts that were used from the log
	Flaky  []BisectFrame `json:"flaky"` // the frames whose probes disagreed
	Next   []string      `json:"next"`  // commands to type next
}

// frame describes the frame at a place of the line.
func (b *bisection) frame(place int) BisectFrame {
	f := b.line[place]
	return BisectFrame{RunID: f.Run, FrameNo: f.Address.Frame, Subject: f.Subject, Commit: f.Commit}
}

// answer returns what the search has found.
func (b *bisection) answer(ctx context.Context) (*BisectResult, error) {
	out := &b.out
	*out = BisectResult{
		RunID: b.run, Suspects: []BisectFrame{}, Attempts: []snapshot.Attempt{}, Files: []files.FileCount{}, Outputs: []list.OutputChange{},
		Frames: len(b.line) - b.firstPlace(), Probes: out.Probes, Known: out.Known, Flaky: []BisectFrame{}, Next: []string{},
	}
	for step, at := range b.steps {
		if b.known[step] == bisect.Flaky {
			out.Flaky = append(out.Flaky, b.frame(at.first))
		}
	}
	good, first, suspects := b.search.Result()
	if good >= 0 {
		out.LastGood = new(b.frame(b.steps[good].last))
	}
	for _, step := range suspects {
		f := b.frame(b.steps[step].first)
		f.Verdict = b.known[step]
		if step == first {
			f.Verdict = bisect.Bad
		}
		out.Suspects = append(out.Suspects, f)
	}
	if len(suspects) > 0 {
		command := fault.CommandLine(fault.Program, "show", out.Suspects[0].Address().String())
		out.Next = append(out.Next, command)
		return out, fault.New(fault.OnlySkipped, "the first bad frame is one of %d: the others cannot be probed", len(suspects)).
			Hint("make the command say something of them, or read them: `%s`", command).Detail("runId", b.run)
	}
	place := b.steps[first].first
	out.FirstBad = new(b.frame(place))
	return out, b.describe(ctx, place)
}

// firstPlace returns the place of the first frame in question.
func (b *bisection) firstPlace() int {
	if b.good < 0 {
		return 0
	}
	return b.steps[b.good].last
}

// describe adds what the frame at a place has changed.
func (b *bisection) describe(ctx context.Context, place int) error {
	entry, err := b.entryOf(ctx, place)
	if err != nil {
		return err
	}
	after, err := entry.State()
	if err != nil {
		return timeline.Explain(err)
	}
	if b.out.Turn = b.turnAt(place); b.out.Turn > 0 {
		if b.out.Prompt, _, err = agent.PromptOf(after, b.out.Turn); err != nil {
			return err
		}
	}
	if err := b.addNext(entry, place); err != nil || place == 0 {
		return err
	}
	before, err := b.entryOf(ctx, place-1)
	if err != nil {
		return err
	}
	was, err := before.State()
	if err != nil {
		return timeline.Explain(err)
	}
	changes, err := list.ChangesBetween(was, after)
	if err != nil {
		return timeline.Explain(err)
	}
	b.out.Outputs = changes.Outputs
	if from, to := b.line[place-1].Tree(), b.line[place].Tree(); from != to && !from.IsZero() && !to.IsZero() {
		counts, err := files.CountFiles(ctx, b.Store, from, to)
		if err != nil {
			return err
		}
		b.out.Files = append(b.out.Files, counts...)
	}
	return timeline.Explain(b.addAttempts(before, entry))
}

// addAttempts adds the attempts that differ between two entries.
func (b *bisection) addAttempts(before, after *snapshot.Entry) error {
	was, err := before.Attempts()
	if err != nil {
		return err
	}
	now, err := after.Attempts()
	if err != nil {
		return err
	}
	for delta, err := range page.Diff(was, now) {
		if err != nil {
			return err
		}
		if delta.To == nil {
			continue
		}
		a, err := snapshot.DecodeAttempt(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return err
		}
		b.out.Attempts = append(b.out.Attempts, a)
	}
	return nil
}

// addNext adds the commands to type next. entry is that of the frame at a place.
func (b *bisection) addNext(entry *snapshot.Entry, place int) error {
	bad := b.line[place].Address.String()
	if place == 0 {
		b.out.Next = append(b.out.Next, fault.CommandLine(fault.Program, "show", bad))
		return nil
	}
	before := b.line[place-1].Address.String()
	row, err := entry.RunRow()
	if err != nil {
		return timeline.Explain(err)
	}
	isSession, err := entry.HasExt(agent.EngineName)
	if err != nil {
		return timeline.Explain(err)
	}
	again := fault.CommandLine(fault.Program, "restore", before, "--to", "DIR")
	switch {
	case isSession:
		again = fault.CommandLine(fault.Program, "session", "what-if", before)
	case row.WorkflowHash != "":
		again = fault.CommandLine(fault.Program, "replay", before, "--restore-vcs")
	}
	b.out.Next = append(b.out.Next, fault.CommandLine(fault.Program, "diff", "--code", before, bad), again)
	return nil
}
