package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/timeline"
)

// traveledDocument is what travel, reset and undo have in common.
type traveledDocument struct {
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
	VCSRestored bool               `json:"vcsRestored"`
	Files       *restoredDocument  `json:"files"`
	Worktrees   []restoredDocument `json:"worktrees"`
	Missing     []string           `json:"missing"`
	NoFiles     *string            `json:"noFiles"`
}

func describeTraveled(done *timeline.Traveled) traveledDocument {
	doc := traveledDocument{
		RunID: done.Run, Op: done.Op.Number, Frame: done.Frame, FromFrame: done.From,
		ToFrame: done.To.Frame, ToRunID: done.To.Run, Status: string(done.Status),
		Reset: done.Reset, Cancelled: done.Cancelled, Dropped: done.Dropped,
		VCSRestored: done.Files != nil || len(done.Worktrees) > 0,
		Worktrees:   make([]restoredDocument, len(done.Worktrees)), Missing: done.Missing,
	}
	if done.Files != nil {
		doc.Files = new(describeRestored(done.Files, false))
	}
	for i, w := range done.Worktrees {
		doc.Worktrees[i] = describeRestored(w, false)
	}
	if done.NoFiles != "" {
		doc.NoFiles = &done.NoFiles
	}
	return doc
}

// printTraveled prints the document or, for people, the address of the new frame.
func (s *session) printTraveled(done *timeline.Traveled, doc any) error {
	if s.json {
		return s.writeJSON(doc)
	}
	return s.printf("%s\n", plain(timeline.Address{Run: done.Run, Frame: done.Frame}.String()))
}

// tellTraveled tells what a travel, reset or undo has done; with next, also how to go on.
func (s *session) tellTraveled(done *timeline.Traveled, next bool) {
	run := plain(done.Run)
	if len(done.Reset) > 0 {
		s.note("pending again: %s", listNames(done.Reset))
	}
	if len(done.Dropped) > 0 {
		s.note("left out of the timeline from now on: %s; `%s timeline %s --all` shows them",
			frameRanges(done.Dropped), program, run)
	}
	if n := len(done.Cancelled); n > 0 {
		s.note("marked cancelled: %s of %s", plural(n, "attempt"), listNames(attemptedNodes(done.Cancelled)))
	}
	s.tellTraveledFiles(done)
	switch {
	case !next:
	case done.Undone == nil:
		s.note("`%s resume %s` goes on; `%s undo %s` takes this back", program, run, program, run)
	case len(done.Reset) > 0 || !done.Status.Ended():
		s.note("`%s resume %s` goes on", program, run)
	}
}

// tellTraveledFiles tells what has become of the working copies.
func (s *session) tellTraveledFiles(done *timeline.Traveled) {
	if done.NoFiles != "" {
		s.note("the files stay as they are: %s", plain(done.NoFiles))
	}
	all := done.Worktrees
	if done.Files != nil {
		all = append([]*timeline.Restored{done.Files}, all...)
	}
	for _, files := range all {
		in, worktree := "", ""
		if files.Name != "" {
			in, worktree = "worktree of "+plain(files.Name)+": ", " --worktree "+plain(files.Name)
		}
		s.note("%s%s", in, restoredSummary(files, false))
		s.noteShared(files.Beside)
		s.noteIncomplete(files.VCS)
		if files.Saved != nil {
			at := plain(files.Saved.String())
			s.note("%swhat was there before is %s: `%s restore %s%s` brings it back", in, at, program, at, worktree)
		}
	}
	if len(done.Missing) > 0 {
		s.note("not here any more, and so not put back: the worktree of %s", listNames(done.Missing))
	}
}

// attemptedNodes are the keys of the nodes of attempts, each once.
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

// frameRanges are the numbers of frames in order, for people.
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
	return "frames " + listNames(parts)
}
