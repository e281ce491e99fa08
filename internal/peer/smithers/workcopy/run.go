package workcopy

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Run has the working copies of one run. These are the working copies in which the run's processes started, as the
// run's snapshots name them, and the working copies that the run's attempts left.
type Run struct {
	all      *Finder
	Kind     string         // the version control system, as in the run's row: snapshot.VCSGit, snapshot.VCSJJ, or ""
	root     string         // the first result of RootsOf
	attempts []attemptCopy  // sorted by start time and then by key
	endings  []int          // the indexes of the ended attempts, sorted by end time
	longest  []int64        // longest[i] is the latest end time of attempts[:i+1]
	byKey    map[string]int // the index of each attempt, by its key
}

// attemptCopy is an attempt with the working copy that the attempt left.
type attemptCopy struct {
	key                string
	startedMs, endedMs int64         // in milliseconds; endedMs is math.MaxInt64 if the attempt has not ended
	worktree           string        // the name of the task's own worktree; "" if the attempt used the run's working copy
	folder             string        // the result of relativeFolder for the task's own worktree
	vcs                *snapshot.VCS // nil if the attempt's row names no revision
}

// Moment is the part of a snapshot that determines its working copies.
type Moment struct {
	AtMs    int64  // the snapshot's time, in milliseconds
	Pointer string // vcs_pointer: the revision at which the process of Smithers started
}

// OfRun returns the working copies of a run. run is the run's row of _smithers_runs, and attempts are the run's rows
// of _smithers_attempts. OfRun skips a row of an attempt that attemptOf cannot read.
func (c *Finder) OfRun(run source.Row, attempts []source.Row) *Run {
	r := &Run{all: c, Kind: dbrow.TextOf(run, "vcs_type"), byKey: make(map[string]int)}
	var rootDir string
	r.root, rootDir = RootsOf(run)
	for _, row := range attempts {
		if a, ok := r.attemptOf(row, rootDir); ok {
			r.attempts = append(r.attempts, a)
		}
	}
	slices.SortFunc(r.attempts, func(a, b attemptCopy) int {
		return cmp.Or(cmp.Compare(a.startedMs, b.startedMs), strings.Compare(a.key, b.key))
	})
	longest := int64(math.MinInt64)
	for i, a := range r.attempts {
		r.byKey[a.key] = i
		longest = max(longest, a.endedMs)
		r.longest = append(r.longest, longest)
		if a.endedMs != math.MaxInt64 {
			r.endings = append(r.endings, i)
		}
	}
	slices.SortStableFunc(r.endings, func(i, j int) int {
		return cmp.Compare(r.attempts[i].endedMs, r.attempts[j].endedMs)
	})
	return r
}

// RootsOf returns two folders from a row of _smithers_runs: root, in which the run works, and rootDir, in which the
// run was started. If the row lacks vcs_root, root equals rootDir. If the row lacks a folder, the result is "".
func RootsOf(run source.Row) (root, rootDir string) {
	var config struct{ RootDir string }
	_ = json.Unmarshal([]byte(dbrow.TextOf(run, "config_json")), &config) // an unreadable config has no rootDir
	return cmp.Or(dbrow.TextOf(run, "vcs_root"), config.RootDir), config.RootDir
}

// attemptOf reads a row of _smithers_attempts. rootDir is the folder in which the run was started. attemptOf returns
// false if the row lacks a node id, an iteration, an attempt number or a start time. If the row has a folder other
// than the run's root and rootDir, the attempt has its own worktree.
func (r *Run) attemptOf(row source.Row, rootDir string) (attemptCopy, bool) {
	iteration, attempt := row["iteration"], row["attempt"]
	started, ended := row["started_at_ms"], row["finished_at_ms"]
	if dbrow.TextOf(row, "node_id") == "" || iteration.Kind != source.Int || attempt.Kind != source.Int || started.Kind != source.Int {
		return attemptCopy{}, false
	}
	a := attemptCopy{
		key:       snapshot.AttemptKey(dbrow.TextOf(row, "node_id"), int(iteration.Int), int(attempt.Int)),
		startedMs: started.Int, endedMs: math.MaxInt64,
		vcs: r.all.At(r.Kind, dbrow.TextOf(row, "jj_pointer")),
	}
	if ended.Kind == source.Int {
		a.endedMs = ended.Int
	}
	if cwd := dbrow.TextOf(row, "jj_cwd"); cwd != "" && cwd != r.root && cwd != rootDir {
		a.worktree, a.folder = dbrow.TextOf(row, "node_id"), relativeFolder(r.root, cwd)
	}
	return a, true
}

// relativeFolder returns the path of folder, a task's worktree, relative to the run's root, with slashes. It returns
// "" if folder is neither inside root nor inside root's parent folder.
func relativeFolder(root, folder string) string {
	rel, err := filepath.Rel(root, folder)
	rel = filepath.ToSlash(rel)
	if err != nil || rel == ".." || rel == "../.." || strings.HasPrefix(rel, "../../") {
		return ""
	}
	return rel
}

// Between returns the working copies that Smithers recorded between two snapshots, oldest first. before and next are
// the moments of the two snapshots. If next is the first snapshot, before is nil. current is the working copy at
// before, or nil.
//
// The result begins with the working copy in which a new process of Smithers started, if any. The working copies that
// ended attempts left follow. withoutPassing removes the working copies that need no entry. The last element belongs to
// the frame of next. Each other element has files that are in no frame, so it needs an entry that is not a frame. If no
// process started and no attempt with a revision ended, the result is nil.
func (r *Run) Between(current *snapshot.VCS, before *Moment, next Moment) []snapshot.VCS {
	var out []snapshot.VCS
	add := func(vcs *snapshot.VCS, worktree, folder string) {
		if vcs == nil {
			return
		}
		after := placed(current, *vcs, worktree, folder)
		current = &after
		out = append(out, after)
	}
	since := int64(math.MinInt64)
	if before != nil {
		since = before.AtMs
	}
	if before == nil || before.Pointer != next.Pointer {
		add(r.all.At(r.Kind, next.Pointer), "", "")
	}
	for _, i := range r.endings {
		if a := r.attempts[i]; a.endedMs > since && a.endedMs <= next.AtMs {
			add(a.vcs, a.worktree, a.folder)
		}
	}
	return withoutPassing(out)
}

// placed returns a copy of current with vcs in it. If worktree is "", vcs becomes the run's working copy, and the
// result keeps the tasks' worktrees of current. Otherwise worktree is the name of a task's worktree and folder is its
// root: vcs replaces this worktree of current, or is added to the worktrees. current may be nil.
func placed(current *snapshot.VCS, vcs snapshot.VCS, worktree, folder string) snapshot.VCS {
	var worktrees []snapshot.Worktree
	if current != nil {
		worktrees = slices.Clone(current.Worktrees)
	}
	if worktree == "" {
		vcs.Worktrees = worktrees
		return vcs
	}
	after := snapshot.VCS{Type: vcs.Type}
	if current != nil {
		after = *current
	}
	vcs.Root = folder
	at, known := slices.BinarySearchFunc(worktrees, worktree, func(w snapshot.Worktree, name string) int {
		return strings.Compare(w.Name, name)
	})
	if known {
		worktrees[at].VCS = vcs
	} else {
		worktrees = slices.Insert(worktrees, at, snapshot.Worktree{Name: worktree, VCS: vcs})
	}
	after.Worktrees = worktrees
	return after
}

// withoutPassing returns the working copies of all that need an entry, in order. A working copy needs an entry in
// these cases:
//   - It is the last of all.
//   - It has files, and the next working copy has other files.
//   - losesWorktree returns true for it and the next working copy.
func withoutPassing(all []snapshot.VCS) []snapshot.VCS {
	var out []snapshot.VCS
	for i, vcs := range all {
		last := i == len(all)-1
		if last || vcs.Tree != all[i+1].Tree && !vcs.Tree.IsZero() || losesWorktree(vcs, all[i+1]) {
			out = append(out, vcs)
		}
	}
	return out
}

// losesWorktree reports whether a task's worktree in vcs has files, and is missing or has other files in after.
func losesWorktree(vcs, after snapshot.VCS) bool {
	return slices.ContainsFunc(vcs.Worktrees, func(w snapshot.Worktree) bool {
		return !w.Tree.IsZero() && !slices.ContainsFunc(after.Worktrees, func(other snapshot.Worktree) bool {
			return other.Name == w.Name && other.Tree == w.Tree
		})
	})
}

// Point sets the fields of the attempt a that name the working copy which the attempt left. See PointAt for the
// fields. frame is the first frame after the attempt ended. If the attempt is unknown, has not ended, or has no
// recorded revision, Point does nothing.
func (r *Run) Point(a *snapshot.Attempt, frame int64) {
	i, known := r.byKey[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
	if !known || a.FinishedAtMs == nil || r.attempts[i].vcs == nil {
		return
	}
	r.PointAt(a, frame, r.attempts[i].vcs)
}

// PointAt sets CommitID and Tree of the attempt a from vcs, the working copy in which the attempt ended. It sets
// Worktree to the name of the task's own worktree. If vcs has files, it also sets Frame and Beside: frame is the
// frame at which vcs was captured, and Beside has the attempts that ran in the working copy at that time. If the
// attempt is unknown or has not ended, PointAt does nothing.
func (r *Run) PointAt(a *snapshot.Attempt, frame int64, vcs *snapshot.VCS) {
	i, known := r.byKey[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
	if !known || a.FinishedAtMs == nil {
		return
	}
	a.CommitID, a.Tree, a.Worktree = vcs.CommitID, vcs.Tree, r.attempts[i].worktree
	if !a.Tree.IsZero() {
		a.Frame, a.Beside = &frame, r.beside(i)
	}
}

// HasOwn reports whether Smithers recorded a revision for the attempt a, or the task has its own worktree. If so, the
// files that the attempt left may differ from the run's current working copy.
func (r *Run) HasOwn(a *snapshot.Attempt) bool {
	i, known := r.byKey[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
	return known && (r.attempts[i].vcs != nil || r.attempts[i].worktree != "")
}

// beside returns the sorted keys of the other attempts that ran in the same working copy when attempt i ended.
func (r *Run) beside(i int) []string {
	one := r.attempts[i]
	// first is the index of the first attempt that started when attempt i ended, or later.
	first, _ := slices.BinarySearchFunc(r.attempts, one.endedMs, func(a attemptCopy, at int64) int {
		return cmp.Compare(a.startedMs, at)
	})
	var keys []string
	// If r.longest[j] is not greater, none of the attempts up to j ended after attempt i.
	for j := first - 1; j >= 0 && r.longest[j] > one.endedMs; j-- {
		if other := r.attempts[j]; j != i && other.endedMs > one.endedMs && other.worktree == one.worktree {
			keys = append(keys, other.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Capture captures the run's current working copy: see Finder.Capture. It returns nil if the run's root is in no
// working copy of this repository.
func (r *Run) Capture(ctx context.Context) (*jjbridge.CapturedFiles, error) {
	return r.all.Capture(ctx, r.root)
}

// With returns a working copy with the files of captured and with the tasks' worktrees of current, which may be nil.
// Attempts of the result has the sorted keys of the attempts that ran in the captured working copy: they started at
// atMs or before, have not ended, and have no worktree of their own.
func (r *Run) With(captured *jjbridge.CapturedFiles, current *snapshot.VCS, atMs int64) *snapshot.VCS {
	now := placed(current, captured.VCS, "", "")
	now.Attempts = nil
	for _, a := range r.attempts {
		if a.startedMs <= atMs && a.endedMs == math.MaxInt64 && a.worktree == "" {
			now.Attempts = append(now.Attempts, a.key)
		}
	}
	slices.Sort(now.Attempts)
	return &now
}

// sameFolder reports whether the paths a and b lead to one folder. It returns false if either path cannot be read.
func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
