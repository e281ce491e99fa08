package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// BisectFrame is a frame of the line that leads to the bad frame.
type BisectFrame struct {
	RunID string `json:"runId"`
	list.FrameInfo
	Verdict bisect.Verdict `json:"verdict,omitempty"` // of a suspect
}

// Address returns the address of the frame.
func (f BisectFrame) Address() timeline.Address {
	return timeline.Address{Run: f.RunID, Frame: f.FrameNo}
}

// bisectStep is frames of the line, one after the other, that have the same files and the same state: but for the number of the frame, a command finds the same
// at each of them. With --when, each step is one frame, because an expression can read the number.
type bisectStep struct{ first, last int }

// BisectResult is the result of a BisectRequest.
type BisectResult struct {
	RunID    string        `json:"runId"`
	FirstBad *BisectFrame  `json:"firstBad"`         // nil if it is one of Suspects
	LastGood *BisectFrame  `json:"lastGood"`         // nil if even the first frame is bad
	Suspects []BisectFrame `json:"suspects"`         // frames that were skipped, and the first frame that is known to be bad; empty if FirstBad is set
	Turn     int           `json:"turn,omitempty"`   // of FirstBad, in a session
	Prompt   string        `json:"prompt,omitempty"` // of the turn

	// What FirstBad has changed, compared with the frame before it.
	Attempts []snapshot.Attempt  `json:"attempts"`
	Files    []files.FileCount   `json:"files"` // of the run's working copy
	Outputs  []list.OutputChange `json:"outputs"`

	Frames   int           `json:"frames"` // from the one that was said to be good to the one that was bad first
	Probes   int           `json:"probes"`
	Known    int           `json:"known"`    // verdicts that were used from the log
	BadNamed bool          `json:"badNamed"` // the request has named FirstBad: it was not probed
	Flaky    []BisectFrame `json:"flaky"`    // the frames whose probes disagreed
	Log      string        `json:"log"`      // the path of the file with the verdicts, which Known takes; "" if they are not kept
	Next     []string      `json:"next"`     // commands to type next

	KnownAtMs int64 `json:"-"` // when the newest verdict of the log was found, before this bisect; 0 if the log had none
}

// readLine sets run, line, steps and good.
func (b *bisection) readLine(ctx context.Context) (err error) {
	if b.run, err = agent.Session(ctx, b.Store, b.BisectRequest.Run); err != nil {
		return err
	}
	newest, err := b.Store.Newest(ctx, b.run)
	if err == nil {
		b.line, err = lineTo(ctx, b.Store, newest.Address)
	}
	if err != nil {
		return err
	}
	bad, err := b.place(ctx, b.Bad, len(b.line)-1)
	if err != nil {
		return err
	}
	b.line = b.line[:bad+1]
	good, err := b.place(ctx, b.Good, -1)
	if err != nil {
		return err
	}
	for i := range b.line {
		same := false
		if i > 0 && b.When == nil {
			if same, err = b.looksSame(i); err != nil {
				return timeline.Explain(err)
			}
		}
		if same {
			b.steps[len(b.steps)-1].last = i
		} else {
			b.steps = append(b.steps, bisectStep{i, i})
		}
		if i == good {
			b.good, b.from = len(b.steps)-1, i
		}
	}
	if b.good == len(b.steps)-1 {
		return fault.New(fault.Usage, "%s and %s have the same files and the same state", b.line[good].Address(), b.line[bad].Address()).
			Hint("name a good frame that is older than the bad one")
	}
	return nil
}

// checkOutputs refuses --when if no frame of the line has an output that it names, and warns of a member that no row of the newest frame has.
func (b *bisection) checkOutputs(ctx context.Context) error {
	known := make(map[string][]string)
	var unknown error
	for place := len(b.line) - 1; place >= b.from; place-- {
		entry, err := b.entryOf(place)
		if err != nil {
			return timeline.Explain(err)
		}
		state, err := entry.State()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return timeline.Explain(err)
		}
		for _, table := range state.Tables() {
			if _, ok := known[table]; ok {
				continue
			}
			known[table] = nil
			for row, err := range state.Outputs(table).Rows() {
				var members jsontext.Members
				if err != nil || json.Unmarshal(row.Value, &members) != nil { // no object
					break
				}
				for _, m := range members {
					known[table] = append(known[table], m.Name)
				}
			}
		}
		doubt, err := b.When.CheckOutputs(known)
		if doubt != nil {
			b.Teller.Warn(doubt)
		}
		if unknown = err; err == nil {
			break
		}
	}
	return unknown
}

// looksSame reports whether a command finds the same at a place in the line as at the place before it: the files, and all that [stateexpr.Values] are read from
// but the number of the frame.
func (b *bisection) looksSame(place int) (bool, error) {
	was, now := b.line[place-1], b.line[place]
	if was.RunID != now.RunID || was.Tree() != now.Tree() || was.ContentHash != now.ContentHash {
		return false, nil
	}
	before, err := b.entryOf(place - 1)
	if err != nil {
		return false, err
	}
	entry, err := b.entryOf(place)
	if err != nil {
		return false, err
	}
	wasRow, err := before.RunRow()
	if err != nil {
		return false, err
	}
	row, err := entry.RunRow()
	if err != nil || row.Status != wasRow.Status {
		return false, err
	}
	for _, name := range []string{snapshot.CollectionAttempts, snapshot.CollectionScores} { // the newest attempt decides which output is the newest
		old, err := before.CollectionID(name)
		if err != nil {
			return false, err
		}
		if id, err := entry.CollectionID(name); err != nil || id != old {
			return false, err
		}
	}
	return true, nil
}

// place returns the place in the line of what a person types for a frame, or none for "". turn:N is the end of a turn.
func (b *bisection) place(ctx context.Context, text string, none int) (int, error) {
	if text == "" {
		return none, nil
	}
	address := text
	if strings.Trim(text, "0123456789") == "" {
		address = b.run + ":" + text
	} else if agent.IsTurnID(text) {
		isSession := false
		newest, err := b.entryOf(len(b.line) - 1)
		if err == nil {
			isSession, err = newest.HasExt(agent.EngineName)
		}
		if err == nil && !isSession {
			err = fault.New(fault.Usage, "run %q is no session of an agent, so it has no %s", b.run, text).
				Hint("name a frame by its number: `%s` shows them", fault.CommandLine(fault.Program, "timeline", b.run))
		}
		if err != nil {
			return 0, timeline.Explain(err)
		}
		address = b.run + "@" + text
	}
	at, err := b.Store.Load(ctx, address)
	if err != nil {
		return 0, err
	}
	found := slices.IndexFunc(b.line, func(f BisectFrame) bool { return f.Address() == at.Address || f.Commit == at.Entry.ID.String() })
	if found < 0 {
		return 0, fault.New(fault.Usage, "%s is not among the frames that lead to %s", at.Address, b.line[len(b.line)-1].Address()).
			Hint("the good frame comes first; `%s` shows the frames, and from which run a fork comes", fault.CommandLine(fault.Program, "timeline", b.run))
	}
	for agent.IsTurnID(text) && found+1 < len(b.line) && !slices.ContainsFunc(b.line[found+1].IDs, agent.IsTurnID) {
		found++
	}
	return found, nil
}

// lineTo returns the frames that lead to a frame, which is the last of them: those of its run that were not dropped on the way, and before them those of the
// run from which it was forked, and so on.
func lineTo(ctx context.Context, store *timeline.Store, to timeline.Address) (line []BisectFrame, err error) {
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
		places := make(map[int64]int, len(frames))
		for at := range frames {
			places[frames[at].FrameNo] = at
		}
		newest := len(frames)
		for number := &from.Frame; number != nil; {
			at, ok := places[*number]
			if !ok || at >= newest { // a forged frame may be based on one that follows
				break
			}
			newest = at
			if n := len(line); n > 0 && line[n-1].Commit == frames[at].Commit {
				line = line[:n-1] // the frame from which a fork began is its frame 0, too
			}
			line = append(line, BisectFrame{RunID: from.Run, FrameInfo: frames[at]})
			number = frames[at].BasedOn
		}
		if from = nil; tree.Timeline.Branch != nil {
			from = &timeline.Address{Run: tree.Timeline.Branch.ParentRunID, Frame: tree.Timeline.Branch.ParentFrameNo}
		}
	}
	slices.Reverse(line)
	if len(line) == 0 {
		return nil, fault.New(fault.FrameNotFound, "run %q has no frame to look at", to.Run)
	}
	return line, nil
}

// entryOf reads the entry of a frame of the line by its commit: whatever is fetched meanwhile, it is what was agreed to.
func (b *bisection) entryOf(place int) (*snapshot.Entry, error) {
	id, err := objstore.ParseID(b.line[place].Commit)
	if err != nil {
		return nil, err
	}
	return snapshot.ReadEntry(b.Store.Objects(), id)
}

// answer returns what the search has found.
func (b *bisection) answer(ctx context.Context) (*BisectResult, error) {
	out := &b.out
	out.RunID, out.Frames = b.run, len(b.line)-b.from
	out.Suspects, out.Flaky, out.Attempts, out.Files, out.Outputs = []BisectFrame{}, []BisectFrame{}, []snapshot.Attempt{}, []files.FileCount{}, []list.OutputChange{}
	good, first, suspects := b.search.Result()
	if good >= 0 {
		out.LastGood = &b.line[b.steps[good].last]
	}
	for step, at := range b.steps {
		if b.known[step] == bisect.Flaky {
			out.Flaky = append(out.Flaky, b.line[at.first])
		}
		if slices.Contains(suspects, step) {
			f := b.line[at.first]
			if f.Verdict = b.known[step]; step == first {
				f.Verdict = bisect.Bad
			}
			out.Suspects = append(out.Suspects, f)
		}
	}
	if len(suspects) > 0 {
		command := fault.CommandLine(fault.Program, "show", out.Suspects[0].Address().String())
		out.Next = []string{command}
		return out, fault.New(fault.OnlySkipped, "the first bad frame is one of %d: the others cannot be probed", len(suspects)).
			Hint("make the command say something of them, or read them: `%s`", command)
	}
	place := b.steps[first].first
	out.FirstBad, out.BadNamed = &b.line[place], b.Bad != "" && first == len(b.steps)-1
	return out, timeline.Explain(b.describe(ctx, place))
}

// describe adds what the first bad frame, which is at a place, has changed, and what to type next.
func (b *bisection) describe(ctx context.Context, place int) error {
	entry, err := b.entryOf(place)
	if err != nil {
		return err
	}
	after, err := entry.State()
	if err != nil {
		return err
	}
	for at := place; at >= 0 && b.out.Turn == 0; at-- {
		for _, id := range b.line[at].IDs {
			_, _ = fmt.Sscanf(id, "turn:%d", &b.out.Turn) // other ids have another form
		}
	}
	if b.out.Prompt, _, err = agent.PromptOf(after, b.out.Turn); err != nil {
		return err
	}
	bad := b.out.FirstBad.Address().String()
	if place == 0 {
		b.out.Next = []string{fault.CommandLine(fault.Program, "show", bad)}
		return nil
	}
	before, err := b.entryOf(place - 1)
	if err != nil {
		return err
	}
	was, err := before.State()
	if err != nil {
		return err
	}
	if b.out.Next, err = nextAfterBisect(entry, b.line[place-1].Address().String(), bad); err != nil {
		return err
	}
	changes, err := list.ChangesBetween(was, after)
	if err != nil {
		return err
	}
	b.out.Outputs = changes.Outputs
	attempts, err := list.AttemptsBetween(before, entry)
	if err != nil {
		return err
	}
	b.out.Attempts = append(b.out.Attempts, attempts...)
	if from, to := b.line[place-1].Tree(), b.line[place].Tree(); from != to && !from.IsZero() && !to.IsZero() {
		b.out.Files, err = files.CountFiles(ctx, b.Store, from, to)
	}
	return err
}

// nextAfterBisect returns the commands to type next. entry is that of the bad frame, and before is the frame before it.
func nextAfterBisect(entry *snapshot.Entry, before, bad string) ([]string, error) {
	row, err := entry.RunRow()
	if err != nil {
		return nil, err
	}
	isSession, err := entry.HasExt(agent.EngineName)
	again := fault.CommandLine(fault.Program, "restore", before, "--to", "DIR")
	switch {
	case isSession:
		again = fault.CommandLine(fault.Program, "session", "what-if", before)
	case row.WorkflowHash != "":
		again = fault.CommandLine(fault.Program, "replay", before, "--restore-vcs")
	}
	return []string{fault.CommandLine(fault.Program, "diff", "--code", before, bad), again}, err
}
