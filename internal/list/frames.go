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

// FrameQuery selects frames. Exactly one of Change, Commit and Path is set.
type FrameQuery struct {
	Change string // a jj change id or a prefix of it
	Commit string // a commit id, at least 4 characters of it, or any revision of git; in a jj workspace also a revset
	Path   string // a file or a folder, relative to the top of the working copy, with slashes; "." is the top
	Run    string // an id or a unique prefix; "" means all runs
}

// FrameMatch is a frame that belongs to a change or a commit, or that changed a path.
type FrameMatch struct {
	RunID       string        `json:"runId"`
	FrameNo     int64         `json:"frameNo"`
	CreatedAtMs int64         `json:"createdAtMs"`
	Subject     string        `json:"subject"`
	Commit      string        `json:"commit"` // the commit id of the frame
	VCS         *jjbridge.Tag `json:"vcs"`
	ChangeID    *string       `json:"changeId"`
	IDs         []string      `json:"ids,omitempty"` // the ids that its writer gave the frame, sorted
	// Landed says that the commit of the query landed the frame. Only queries by commit set it.
	Landed bool `json:"landed,omitempty"`
	// Paths are the changed paths at or below the path of the query, with the kind of change, in the run's working
	// copy and in the tasks' own worktrees. Only queries by path set it.
	Paths []jjbridge.PathChange `json:"paths,omitempty"`
	// Since is set if frames before this frame have no captured files, so that any of these frames may have changed the
	// paths. It is the number of the older frame with which the files were compared. Otherwise Since is nil.
	Since *int64 `json:"since,omitempty"`
}

// FramesOf returns the frames that match query, sorted by run (newest first) and number. A frame changes a
// path if its captured files differ at the path from the files captured before the frame. A frame that a fork
// shares with its parent counts as a frame of the parent. The result is never nil.
//
// Error codes: usage if the query is invalid, or Commit is not a commit; run_not_found; limit_exceeded if a query by
// path finds too many changed paths.
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
			continue // frame 0 of this fork is the parent's frame, which is listed for the parent
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
	if query.Commit != "" {
		return withLanded(ctx, s, query, out)
	}
	return out, nil
}

// framesAt returns the index rows of the frames that have the change query.Change, or else the commit query.Commit.
// Commit may be the first digits of a commit id, or a revision. If Commit has at least 4 characters and only
// hexadecimal digits, framesAt first searches the index for commits that begin with Commit. If it finds no frame, it
// resolves Commit as a revision. If there is no such revision, framesAt returns nil for hexadecimal digits, and the
// error usage for any other text.
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
		return nil, fault.New(fault.Usage, "%q is not a commit", query.Commit).
			Hint("name a branch, a tag, a revision such as HEAD~2, or at least 4 digits of a commit id")
	}
	if commit == "" {
		return nil, nil
	}
	return index.FramesByCommit(ctx, commit)
}

// asIndexed returns entry with the run id and the frame number of row, its row in the index. The run id and the number
// in entry may differ, because a fork can continue with entries that were made under another run's id. asIndexed then
// returns a view of the entry; see timeline.AsFrame.
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

// check returns a usage error if the query is invalid. A valid query has exactly one of Change, Commit and Path.
// Change has only the letters of jj change ids, k to z. Path is "." or a relative path without empty parts, "."
// and "..". check removes a trailing slash from q.Path.
func (q *FrameQuery) check() error {
	given := 0
	for _, value := range []string{q.Change, q.Commit, q.Path} {
		if value != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return fault.New(fault.Usage, "`git smithers frames` needs exactly one of --change, --commit and --path")
	case strings.Trim(strings.ToLower(q.Change), "klmnopqrstuvwxyz") != "":
		return fault.New(fault.Usage, "%q is not a jj change id", q.Change).
			Hint("copy the change id, or its first letters, from `jj log`")
	case q.Path == "":
		return nil
	}
	parts := strings.Split(strings.TrimSuffix(q.Path, "/"), "/")
	if q.Path == "." {
		return nil
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return fault.New(fault.Usage, "%q is not a path in the working copy", q.Path).
				Hint("give the path relative to the top of the working copy")
		}
	}
	q.Path = strings.Join(parts, "/")
	return nil
}

// matchOf returns the match for the frame entry, without Paths and Since.
func matchOf(entry *snapshot.Entry) (FrameMatch, error) {
	vcs, err := entry.VCSRevision()
	match := FrameMatch{
		RunID: entry.Run, FrameNo: entry.Frame, CreatedAtMs: entry.AtMs, Subject: entry.Subject,
		Commit: entry.ID.String(), VCS: jjbridge.TagOf(vcs), IDs: entry.IDs,
	}
	if vcs != nil && vcs.ChangeID != "" {
		match.ChangeID = &vcs.ChangeID
	}
	return match, err
}

// framesOfPath returns the frames that changed files at or below query.Path, in the run query.Run or, if
// query.Run is "", in all runs. query.Run must be a whole id. The frames are sorted by run (newest first) and
// number. The error is limit_exceeded if the frames changed too many paths. The result is never nil.
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
