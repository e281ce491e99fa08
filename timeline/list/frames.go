package list

import (
	"context"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// FrameQuery says which frames to find. Exactly one of Change, Commit and Path is given.
type FrameQuery struct {
	Change string // a jj change id or a prefix of it
	Commit string // a commit id, a prefix of one of at least 4 characters, or any revision that git takes; in a jj workspace also a revset
	Path   string // relative to the top of the working copy, with slashes: a file, or a folder for all in it; "." is the top
	Run    string // an id or a unique prefix; "" for all runs
}

// FrameMatch is a frame that belongs to a change or a commit, or that changed a path.
type FrameMatch struct {
	RunID       string        `json:"runId"`
	FrameNo     int64         `json:"frameNo"`
	CreatedAtMs int64         `json:"createdAtMs"`
	Subject     string        `json:"subject"`
	Commit      string        `json:"commit"` // of the frame
	VCS         *jjbridge.Tag `json:"vcs"`
	ChangeID    *string       `json:"changeId"`
	// Paths are the paths that the frame changed under the one that was asked for, with
	// what became of each, in the run's working copy and the tasks' own worktrees; only
	// for a query by path.
	Paths []jjbridge.PathChange `json:"paths,omitempty"`
	// Since is the frame that the paths are compared with, if the files of frames after it were
	// not captured: the paths have changed at any of these.
	Since *int64 `json:"since,omitempty"`
}

// FramesOf finds frames, by run (the newest first) and number. A path is changed by
// the frame whose captured files differ there from those captured last before. A frame
// that a fork shares with its parent is the parent's. The result is never nil.
func FramesOf(ctx context.Context, s *timeline.Store, query FrameQuery) ([]FrameMatch, error) {
	if err := query.check(); err != nil {
		return nil, err
	}
	if query.Run != "" {
		var err error
		if query.Run, err = s.ResolveRun(ctx, query.Run); err != nil {
			return nil, err
		}
	}
	index, err := s.Index(ctx)
	if err != nil {
		return nil, err
	}
	s.WarnOf(index.Problems())
	if query.Path != "" {
		return framesOfPath(ctx, s, index, query)
	}
	rows, err := framesAt(ctx, s, index, query)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := []FrameMatch{}
	for _, row := range rows {
		if query.Run != "" && row.RunID != query.Run {
			continue
		}
		entry, err := snapshot.ReadEntry(s.Objects(), row.Commit)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if row.FrameNo == 0 && entry.Run != row.RunID {
			continue
		}
		if entry, err = asIndexed(ctx, s, index, row, entry); err != nil {
			return nil, err
		}
		match, err := matchOf(entry)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		out = append(out, match)
	}
	return out, nil
}

// framesAt returns the rows of the frames of a change or a commit. What may be the beginning of a commit's id is one, unless
// no frame has such an id.
func framesAt(ctx context.Context, s *timeline.Store, index *sqliteindex.Index, query FrameQuery) ([]sqliteindex.FrameRow, error) {
	if query.Change != "" {
		return index.FramesByChange(ctx, strings.ToLower(query.Change))
	}
	isID := len(query.Commit) >= 4 && strings.Trim(strings.ToLower(query.Commit), "0123456789abcdef") == ""
	if isID {
		rows, err := index.FramesByCommit(ctx, strings.ToLower(query.Commit))
		if err != nil || len(rows) > 0 {
			return rows, err
		}
	}
	commit, err := jjbridge.ResolveCommit(ctx, s.Workspace(), query.Commit)
	if err != nil {
		return nil, err
	}
	if commit == "" && !isID {
		return nil, fault.New(fault.Usage, "%q is no commit", query.Commit).
			Hint("give a commit's id, or at least 4 digits of it, or a name such as HEAD~2, a branch or a tag")
	}
	if commit == "" {
		return nil, nil
	}
	return index.FramesByCommit(ctx, commit)
}

// asIndexed is the entry of a frame as the run has it that the frame is listed for.
func asIndexed(ctx context.Context, s *timeline.Store, index *sqliteindex.Index, row sqliteindex.FrameRow, entry *snapshot.Entry) (*snapshot.Entry, error) {
	if entry.Run == row.RunID && entry.Frame == row.FrameNo {
		return entry, nil
	}
	run, _, err := index.Run(ctx, row.RunID)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return timeline.AsFrame(s, timeline.Address{Run: row.RunID, Frame: row.FrameNo}, run.Tip, entry)
}

// check refuses a query that cannot be answered, and brings its path into the form that
// trees have.
func (q *FrameQuery) check() error {
	given := 0
	for _, value := range []string{q.Change, q.Commit, q.Path} {
		if value != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return fault.New(fault.Usage, "frames are found by one of --change, --commit and --path")
	case strings.Trim(strings.ToLower(q.Change), "klmnopqrstuvwxyz") != "":
		return fault.New(fault.Usage, "%q is no jj change id", q.Change).
			Hint("a change id, or the beginning of one, has letters from k to z: `jj log` shows them")
	case q.Path == "":
		return nil
	}
	parts := strings.Split(strings.TrimSuffix(q.Path, "/"), "/")
	if q.Path == "." {
		return nil
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return fault.New(fault.Usage, "%q is no path in the working copy", q.Path).
				Hint("give it relative to the top of the working copy")
		}
	}
	q.Path = strings.Join(parts, "/")
	return nil
}

// matchOf is a frame without its paths.
func matchOf(entry *snapshot.Entry) (FrameMatch, error) {
	vcs, err := entry.VCSRevision()
	match := FrameMatch{
		RunID: entry.Run, FrameNo: entry.Frame, CreatedAtMs: entry.AtMs, Subject: entry.Subject,
		Commit: entry.ID.String(), VCS: jjbridge.TagOf(vcs),
	}
	if vcs != nil && vcs.ChangeID != "" {
		match.ChangeID = &vcs.ChangeID
	}
	return match, err
}

// framesOfPath finds the frames that changed a path.
func framesOfPath(ctx context.Context, s *timeline.Store, index *sqliteindex.Index, query FrameQuery) ([]FrameMatch, error) {
	rows, err := index.Runs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if query.Path == "." {
		query.Path = ""
	}
	out, paths := []FrameMatch{}, 0
	for _, row := range rows {
		if query.Run != "" && row.RunID != query.Run {
			continue
		}
		tip, err := snapshot.ReadEntry(s.Objects(), row.Tip)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		frames, err := framesTouching(ctx, s, tip, query.Path, &paths)
		if err != nil {
			return nil, timeline.Explain(fmt.Errorf("run %q: %w", row.RunID, err))
		}
		out = append(out, frames...)
	}
	return out, nil
}
