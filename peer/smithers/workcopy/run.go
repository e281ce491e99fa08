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

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Run has the working copies of one run: those in which its processes started, which its snapshots name, and those that its
// attempts left.
type Run struct {
	all      *Finder
	Kind     string
	root     string // of the run, as its row has it
	attempts []attemptCopy
	endings  []int          // indexes of those that have ended, by when that was
	longest  []int64        // by index: when the last of the attempts up to there ended
	byKey    map[string]int // indexes
}

// attemptCopy is an attempt, and the working copy that it left.
type attemptCopy struct {
	key                string
	startedMs, endedMs int64         // endedMs is math.MaxInt64 for one that has not
	worktree           string        // the task's own: its name in vcs.json; "" for the run's
	folder             string        // of that worktree, relative to the run's
	vcs                *snapshot.VCS // nil where nothing is recorded
}

// Moment is the part of a snapshot that decides on working copies.
type Moment struct {
	AtMs    int64
	Pointer string // vcs_pointer
}

// OfRun returns the working copies of a run from its row and those of its attempts.
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

// RootsOf returns the folder in which a run works, and the folder that it was started in, or "".
func RootsOf(run source.Row) (root, rootDir string) {
	var config struct{ RootDir string }
	_ = json.Unmarshal([]byte(dbrow.TextOf(run, "config_json")), &config) // without one there is only the other
	return cmp.Or(dbrow.TextOf(run, "vcs_root"), config.RootDir), config.RootDir
}

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

// relativeFolder is where a task's worktree is from the run's; "" where that is neither in
// it nor beside it.
func relativeFolder(root, folder string) string {
	rel, err := filepath.Rel(root, folder)
	if err != nil || strings.HasPrefix(rel, filepath.Join("..", "..")) || rel == ".." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Between are the working copies that became known after one snapshot (nil: before the run's
// first) and up to the next, in their order, current being the one known then: those of a
// process that started, and of attempts that ended. The last one is that of the next
// snapshot's frame. What is before it is for entries that are no frames: nothing else
// keeps these files. None where nothing changes.
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

// placed is current with another working copy of the run, or of a task's own worktree.
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

// withoutPassing leaves out, but for the last one, what a later one says as well, and
// what has no files to keep.
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

// losesWorktree reports whether a task's worktree has other files afterwards.
func losesWorktree(vcs, after snapshot.VCS) bool {
	return slices.ContainsFunc(vcs.Worktrees, func(w snapshot.Worktree) bool {
		return !w.Tree.IsZero() && !slices.ContainsFunc(after.Worktrees, func(other snapshot.Worktree) bool {
			return other.Name == w.Name && other.Tree == w.Tree
		})
	})
}

// Point gives an attempt that has ended the files that it left. frame is the first frame since then.
func (r *Run) Point(a *snapshot.Attempt, frame int64) {
	i, known := r.byKey[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
	if !known || a.FinishedAtMs == nil || r.attempts[i].vcs == nil {
		return
	}
	r.PointAt(a, frame, r.attempts[i].vcs)
}

// PointAt gives an attempt that has ended the files that were captured since.
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

// HasOwn reports whether an attempt has a pointer or a worktree of its own. Then the working copy of the run does not have the
// files that it left.
func (r *Run) HasOwn(a *snapshot.Attempt) bool {
	i, known := r.byKey[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
	return known && (r.attempts[i].vcs != nil || r.attempts[i].worktree != "")
}

// beside are the other attempts in the same working copy that ran when one ended, sorted.
func (r *Run) beside(i int) []string {
	one := r.attempts[i]
	first, _ := slices.BinarySearchFunc(r.attempts, one.endedMs, func(a attemptCopy, at int64) int {
		return cmp.Compare(a.startedMs, at)
	})
	var keys []string
	for j := first - 1; j >= 0 && r.longest[j] > one.endedMs; j-- {
		if other := r.attempts[j]; j != i && other.endedMs > one.endedMs && other.worktree == one.worktree {
			keys = append(keys, other.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Capture reads the run's working copy as it is now. It returns nil if the run's root is not a working copy of this repository.
func (r *Run) Capture(ctx context.Context) (*jjbridge.Captured, error) {
	return r.all.Capture(ctx, r.root)
}

// With returns the working copies of the run with its captured one: the attempts that were running in it at a time, and the
// tasks' worktrees as current has them.
func (r *Run) With(captured *jjbridge.Captured, current *snapshot.VCS, atMs int64) *snapshot.VCS {
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

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
