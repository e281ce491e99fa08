// Package summary answers the first questions that people have about a run: how it stands, which step failed and why,
// what changed the files before, what it waits for, and which of its forks went better.
package summary

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Summary is the summary of a run at its newest entry, and in JSON the member summary of show. All times are in milliseconds since
// 1970, and all durations in milliseconds.
type Summary struct {
	Row     snapshot.Run    `json:"-"`
	Entry   *snapshot.Entry `json:"-"` // the newest entry
	Stale   bool            `json:"-"` // the row says running, and no live process owns the run
	Session bool            `json:"-"` // the run is a session of a coding agent: its steps are turns
	Origin  *list.Origin    `json:"-"` // the parent's frame; nil if the run is not a fork
	VCS     *snapshot.VCS   `json:"-"` // the working copy at the newest entry; nil if it was not captured
	Input   json.RawMessage `json:"-"` // nil if the run has no input

	Frames list.RunTimeline `json:"-"` // the frames of the run's timeline; see ReadBriefly
	Loops  []Loop           `json:"-"` // sorted by id
	// Attempts has all attempts in the order of their start.
	Attempts []*Attempt        `json:"-"`
	Waits    []mailbox.Waiting `json:"-"`
	First    *snapshot.Entry   `json:"-"` // the first frame of the line of the run, see timeline.FirstFrame

	Reason  *string `json:"reason"`  // why the run failed, or what it waits for first; nil for neither. Only Describe sets it
	StartMs int64   `json:"startMs"` // the start of the run's own first attempt or, if it has none, the time of its first frame
	EndMs   int64   `json:"endMs"`   // the end of the run's own last attempt, or now if an attempt runs or waits
	// TookMs is the time in which at least one of the run's own attempts worked. WaitedMs is the time in which the run only
	// waited for a person, a signal or a timer. The attempts of a fork's parent do not count.
	TookMs     int64    `json:"tookMs"`
	WaitedMs   int64    `json:"waitedMs"`
	FrameCount int      `json:"frames"`
	Code       Code     `json:"code"` // how the files have changed since First
	Calls      Calls    `json:"calls"`
	Scorers    []Scorer `json:"scorers"` // sorted by name
	Usage      *Usage   `json:"usage"`   // nil if no step says what it used
	Failure    *Failure `json:"failure"` // nil if the run has not failed
	Steps      []Step   `json:"steps"`   // see Step for the order
	Description
	// Unread has the parts that could not be read, or not as a whole, with the reasons. The other parts are complete.
	Unread Unread `json:"unread,omitempty"`

	effects map[int64]list.Effect // by the number of the frame
	order   map[string]int        // the position of each task in the rendered tree
	calls   map[string][]Call     // by the key of their step
}

// A Part is a part of a summary that is read on its own.
type Part string

// The parts of a summary.
const (
	PartInput    Part = "input"
	PartWaits    Part = "waits"
	PartFrames   Part = "frames"   // Frames, and the changes of files that attempts made
	PartSteps    Part = "steps"    // Steps and Loops
	PartAttempts Part = "attempts" // Attempts, those of Steps, and the times
	PartUsage    Part = "usage"
	PartCalls    Part = "calls"
	PartScores   Part = "scores"
	PartCode     Part = "code"    // First and Code
	PartFailure  Part = "failure" // the change before the failure
	PartForks    Part = "forks"
	PartLog      Part = "log"
	PartOutputs  Part = "outputs"
)

// Unread has errors by the part that could not be read.
type Unread map[Part]error

// MarshalJSON returns an object with the texts of the errors.
func (u Unread) MarshalJSON() ([]byte, error) {
	texts := make(map[Part]string, len(u))
	for part, err := range u {
		texts[part] = err.Error()
	}
	return json.Marshal(texts)
}

// A Code counts changed files and lines.
type Code struct {
	Files     int   `json:"files"`
	Added     int64 `json:"linesAdded"`
	Removed   int64 `json:"linesRemoved"`
	Uncounted int   `json:"uncounted"` // the files whose lines were not counted, because the files are binary or large
}

// IsZero reports whether no file has changed.
func (c Code) IsZero() bool { return c == Code{} }

// Calls counts the tool calls of a run.
type Calls struct {
	Total  int `json:"total"`
	Failed int `json:"failed"`
}

// Read returns the summary of run (an id or a unique prefix) at its newest entry. now is the end of attempts that have
// not ended. If a part of the run cannot be read, it is in Unread, and the others are read. The codes are run_not_found, and those
// of an unreadable newest entry.
func Read(ctx context.Context, s *timeline.Store, run string, now time.Time) (*Summary, error) {
	head, err := s.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, head, now, true)
}

// ReadBriefly returns the summary of a run at the entry that head knows as Read does, and reads a run of thousands of frames
// faster: Frames then lacks frames at which no attempt ended.
func ReadBriefly(ctx context.Context, s *timeline.Store, head *timeline.Head, now time.Time) (*Summary, error) {
	return read(ctx, s, head, now, false)
}

// read returns the summary of a run at the entry that head knows. all reports whether Frames is to have all frames.
func read(ctx context.Context, s *timeline.Store, head *timeline.Head, now time.Time, all bool) (*Summary, error) {
	var err error
	row, entry, state := head.Row(), head.Entry(), head.State()
	sum := &Summary{
		Row: row, Entry: entry, Stale: Stale(s, row, entry),
		Origin: list.OriginOf(ctx, s, row), Frames: list.RunTimeline{RunID: row.ID}, Unread: make(Unread), Scorers: []Scorer{}, Steps: []Step{},
	}
	if sum.Session, err = entry.HasExt(agent.EngineName); err != nil {
		return nil, timeline.Explain(err)
	}
	if sum.VCS, err = entry.VCSRevision(); err != nil {
		return nil, timeline.Explain(err)
	}
	return sum, sum.readParts(ctx, []partReader{
		{PartInput, func() (err error) { sum.Input, err = state.Input(); return err }},
		{PartWaits, func() (err error) { sum.Waits, err = mailbox.WaitsOf(head, now); return err }},
		{PartSteps, func() error { return sum.readNodes(s, state) }},
		{PartAttempts, func() error { return sum.readAttempts(s, state, now) }},
		{PartFrames, func() error { return sum.readFrames(ctx, s, all || sum.Session) }},
		{PartFrames, func() error { return sum.readChanges(ctx, s) }},
		{PartSteps, func() error { sum.arrange(); sum.readTimes(); sum.count(); return nil }},
		{PartUsage, func() (err error) { sum.Usage, err = readUsage(state); return err }},
		{PartCalls, sum.readCalls},
		{PartScores, func() (err error) { sum.Scorers, err = ScorersOf(sum.Entry); return err }},
		{PartCode, func() error { return sum.readCode(ctx, s) }},
		{PartFailure, func() error { return sum.readFailure(ctx, s) }},
	})
}

// A partReader reads a part of a summary.
type partReader struct {
	name Part
	read func() error
}

// readParts reads parts one after the other, and notes those that cannot be read. The only error is that of ctx.
func (sum *Summary) readParts(ctx context.Context, parts []partReader) error {
	for _, part := range parts {
		err := timeline.Explain(part.read())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && sum.Unread[part.name] == nil {
			sum.Unread[part.name] = err
		}
	}
	return nil
}

// countLinesFor is how long Read counts changed lines that the index does not have. The lines that are not counted then are unknown,
// and the next call counts them.
const countLinesFor = 3 * time.Second

// readFrames sets Frames and effects. all reports whether Frames is to have all frames.
func (sum *Summary) readFrames(ctx context.Context, s *timeline.Store, all bool) error {
	if all {
		tree, err := list.Timeline(ctx, s, sum.Row.ID, list.TreeOptions{})
		if err != nil {
			return err
		}
		sum.Frames = tree.Timeline
	} else {
		var numbers []int64
		for _, a := range sum.Attempts {
			if a.Frame != nil && !a.Inherited {
				numbers = append(numbers, *a.Frame)
			}
		}
		brief, err := list.TimelineOfFrames(ctx, s, sum.Row.ID, numbers)
		if err != nil {
			return err
		}
		sum.Frames = *brief
	}
	read := len(sum.Frames.Frames)
	sum.Frames.Frames = slices.DeleteFunc(sum.Frames.Frames, func(f list.FrameInfo) bool { return f.FrameNo > sum.Row.Frame }) // appended meanwhile
	sum.Frames.All -= read - len(sum.Frames.Frames)
	sum.FrameCount = sum.Frames.All
	effects, err := list.Effects(ctx, &sum.Frames)
	if err != nil {
		return err
	}
	counting, stop := context.WithTimeout(ctx, countLinesFor)
	defer stop()
	uncounted := list.CountLines(counting, s, &sum.Frames, effects)
	sum.effects = make(map[int64]list.Effect, len(effects))
	for i, effect := range effects {
		sum.effects[sum.Frames.Frames[i].FrameNo] = effect
	}
	return uncounted
}

// readCode sets First and Code.
func (sum *Summary) readCode(ctx context.Context, s *timeline.Store) error {
	first, err := timeline.FirstFrame(ctx, s, sum.Row.ID)
	if err != nil {
		return err
	}
	sum.First = first
	sum.Code, err = changesBetween(ctx, s, first, sum.Entry)
	return err
}

// changesBetween counts how the files of two frames differ, in the working copy of the run and in the worktrees of its
// tasks together.
func changesBetween(ctx context.Context, s *timeline.Store, from, to *snapshot.Entry) (Code, error) {
	changes, err := files.CompareFiles(ctx, s, from, to)
	if err != nil {
		return Code{}, err
	}
	var sum Code
	for _, c := range changes {
		sum.Files += c.Files
		sum.Added += c.Added
		sum.Removed += c.Removed
		sum.Uncounted += c.Uncounted
	}
	return sum, nil
}
