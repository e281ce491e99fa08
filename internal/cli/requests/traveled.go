package requests

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// TraveledDocument has the members that the documents of travel, reset and undo share.
type TraveledDocument struct {
	RunID       string             `json:"runId"`
	Op          int                `json:"op"`
	Frame       int64              `json:"frame"`
	FromFrame   int64              `json:"fromFrame"`
	ToFrame     int64              `json:"toFrame"`
	ToRunID     string             `json:"toRunId"`
	Status      string             `json:"status"`
	Reset       []string           `json:"reset"`
	Cancelled   []string           `json:"cancelled"`
	Dropped     []int64            `json:"dropped"`
	Signals     []string           `json:"droppedSignals"` // their names, in the order in which they came
	VCSRestored bool               `json:"vcsRestored"`
	Files       *RestoredDocument  `json:"files"`
	Worktrees   []RestoredDocument `json:"worktrees"`
	Missing     []string           `json:"missing"`
	NoFiles     *string            `json:"noFiles"`
}

// DescribeTraveled returns the JSON document of a travel, reset or undo.
func DescribeTraveled(done *travel.Result) TraveledDocument {
	doc := TraveledDocument{
		RunID: done.Run, Op: done.Op.Number, Frame: done.Frame, FromFrame: done.From,
		ToFrame: done.To.Frame, ToRunID: done.To.Run, Status: string(done.Status),
		Reset: done.Reset, Cancelled: done.Cancelled, Dropped: done.Dropped, Signals: done.Signals,
		VCSRestored: done.Files != nil || len(done.Worktrees) > 0,
		Worktrees:   make([]RestoredDocument, len(done.Worktrees)), Missing: done.Missing,
	}
	if done.Files != nil {
		doc.Files = new(DescribeRestored(done.Files, false))
	}
	for i, w := range done.Worktrees {
		doc.Worktrees[i] = DescribeRestored(w, false)
	}
	if done.NoFiles != "" {
		doc.NoFiles = &done.NoFiles
	}
	return doc
}

// PrintTraveled prints doc with --json and otherwise the address of the new frame.
func PrintTraveled(s *session.Session, done *travel.Result, doc any) error {
	if s.JSON {
		return s.WriteJSON(doc)
	}
	return s.Printf("%s\n", plain.Text(timeline.Address{Run: done.Run, Frame: done.Frame}.String()))
}

// TellTraveled notes the changes that the travel, reset or undo in done made to the run and to its files. It then notes
// next, a sentence with the command that continues the run. If next is "", it notes no sentence.
//
// After a travel or reset, TellTraveled adds to next the command that takes the travel or reset back. After an undo, it
// notes next only if the run can continue: the run has not ended, or a node is pending again.
func TellTraveled(ctx context.Context, s *session.Session, store *timeline.Store, done *travel.Result, next string) {
	if len(done.Reset) > 0 {
		s.Note("pending again: %s", display.List(done.Reset))
	}
	if len(done.Dropped) > 0 {
		s.Note("dropped from the timeline: %s; `%s timeline %s --all` shows them",
			frameRanges(done.Dropped), arg.Program, fault.Word(done.Run))
	}
	if n := len(done.Cancelled); n > 0 {
		s.Note("marked cancelled: %s of %s", plain.Count(n, "attempt"), display.List(attemptedNodes(done.Cancelled)))
	}
	if n := len(done.Signals); n > 0 {
		s.Note("dropped: %s (%s); --keep-signals keeps them", plain.Count(n, "signal"), display.ListUpTo(5, done.Signals))
	}
	tellTraveledFiles(ctx, s, store, done)
	switch {
	case next == "":
	case done.Undone == nil:
		s.Note("%s; `%s undo %s` takes this back", next, arg.Program, fault.Word(done.Run))
	case len(done.Reset) > 0 || !done.Status.Ended():
		s.Note("%s", next)
	}
}

// AfterTravel returns a sentence with the command that continues a run after a travel, reset or undo. done describes
// the travel, reset or undo.
func AfterTravel(ctx context.Context, store *timeline.Store, done *travel.Result) (string, error) {
	head, err := store.Head(ctx, done.Run)
	if err != nil {
		return "", err
	}
	return app.NextCommand(head, " continues the run")
}

// tellTraveledFiles notes the files that the travel, reset or undo in done restored, in each working copy. If
// done.NoFiles is not "", it is the reason why no files were restored, and tellTraveledFiles notes this reason. It also
// notes the worktrees that no longer exist.
func tellTraveledFiles(ctx context.Context, s *session.Session, store *timeline.Store, done *travel.Result) {
	if done.NoFiles != "" {
		s.Note("the files stay as they are: %s", plain.Text(done.NoFiles))
	}
	all := done.Worktrees
	if done.Files != nil {
		all = append([]*files.RestoreResult{done.Files}, all...)
	}
	for _, files := range all {
		tellFiles(ctx, s, store, files, fileWords{
			stayed: "not restored, because you named it", edited: leavingFiles(s, done), shared: true, before: files.Saved,
		})
	}
	if len(done.Missing) > 0 {
		s.Note("the worktree of %s no longer exists; resume makes it again, with the restored files", display.List(done.Missing))
	}
}

// attemptedNodes returns the keys of the nodes to which the attempts belong, each key once. attempts has the keys of
// the attempts, sorted by node. The key of a node is the part of an attempt's key before the last "::".
func attemptedNodes(attempts []string) []string {
	var nodes []string
	for _, key := range attempts {
		node := key[:max(0, strings.LastIndex(key, "::"))]
		if len(nodes) == 0 || nodes[len(nodes)-1] != node {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// frameRanges returns the numbers of frames in words, such as "frames 1 to 4, 7". Two consecutive frames are listed one
// by one. If there are many ranges, the result has the first ranges and the number of the others. frames must be sorted
// and must not be empty.
func frameRanges(frames []int64) string {
	var parts []string
	for i := 0; i < len(frames); {
		end := i
		for end+1 < len(frames) && frames[end+1] == frames[end]+1 {
			end++
		}
		part := strconv.FormatInt(frames[i], 10)
		switch {
		case end == i+1:
			part += ", " + strconv.FormatInt(frames[end], 10)
		case end > i:
			part = fmt.Sprintf("%d to %d", frames[i], frames[end])
		}
		parts = append(parts, part)
		i = end + 1
	}
	if len(frames) == 1 {
		return "frame " + parts[0]
	}
	return "frames " + display.List(parts)
}
