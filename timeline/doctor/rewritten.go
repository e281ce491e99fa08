package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// rewritten notes the runs that git's rewriting tools changed, deleted or passed over. git filter-repo keeps maps of what it did, and
// git filter-branch keeps the commits before under refs/original/.
func (e *examination) rewritten(ctx context.Context) error {
	tips, bases := make(map[refs.Name]objstore.ID), make(map[string][]string) // bases has the runs by the commit of their newest files
	for _, item := range e.refs.Items {
		if !item.Ours || item.Broken != nil || !isIn(item.Name, refs.TipsFolder) && !isIn(item.Name, refs.GoneFolder) {
			continue
		}
		tips[refs.Name(strings.Replace(string(item.Name), refs.GoneFolder, refs.TipsFolder, 1))] = item.ID
		if entry, err := snapshot.ReadEntry(e.store.Objects(), item.ID); err == nil && isIn(item.Name, refs.TipsFolder) {
			if vcs, err := entry.VCSRevision(); err == nil && vcs != nil {
				bases[vcs.CommitID] = append(bases[vcs.CommitID], runOf(item.Name))
			}
		}
	}
	err := e.filterRepoMap("ref-map", func(old, now, ref string) {
		if isIn(refs.Name(ref), refs.TipsFolder) && old != now {
			e.noteRewritten(ctx, refs.Name(ref), tips[refs.Name(ref)], now)
		}
	})
	var holding []string
	if err == nil {
		err = e.filterRepoMap("commit-map", func(old, now, _ string) {
			if old != now {
				holding = append(holding, bases[old]...)
			}
		})
	}
	if err != nil {
		return err
	}
	out, err := e.git.run(ctx, "for-each-ref", "--format=%(refname)", "refs/original/", "refs/replace/")
	if err != nil {
		return err
	}
	if strings.Contains(out, "refs/original/") {
		// An error is of a broken ref, which has a finding of its own.
		before, _ := e.git.run(ctx, "rev-list", "--glob=refs/original/*", "--not", "--branches", "--tags")
		for commit := range strings.Lines(before) {
			holding = append(holding, bases[strings.TrimSpace(commit)]...)
		}
	}
	if slices.Sort(holding); len(holding) > 0 {
		e.note(Finding{Kind: Replaced, Where: strings.Join(holding, ", "), What: fmt.Sprintf(
			"a tool has rewritten the commits under the files of %s, so what it took out of history may still be in their frames: "+
				"`%s` drops them, and `git smithers help removing` says how to find out", plain.Count(len(holding), "run"),
			fault.CommandLine("git smithers prune", holding...))}, nil)
	}
	for name := range strings.Lines(out) {
		id, err := objstore.ParseID(strings.TrimSpace(strings.TrimPrefix(name, "refs/replace/")))
		if _, readErr := snapshot.ReadEntry(e.store.Objects(), id); err == nil && readErr == nil {
			e.note(Finding{Kind: Replaced, Where: id.String(), What: "git shows another commit in place of this entry of a run, and git smithers does not: " +
				"`git replace -d " + id.String() + "` ends that"}, nil)
		}
	}
	return ctx.Err()
}

// noteRewritten notes the run of a tip that git filter-repo changed to now, or deleted if now is zeros, unless the run has another tip
// or a tombstone since. tip is its value here.
func (e *examination) noteRewritten(ctx context.Context, name refs.Name, tip objstore.ID, now string) {
	run, remote := runOf(name), "REMOTE"
	if tip.String() != now {
		return
	}
	if having := e.remotesOf(name); len(having) > 0 {
		remote = having[0]
	}
	fetch := fault.CommandLine("git smithers fetch", remote, run)
	what := "git filter-repo deleted the run: `" + fetch + "` fetches it from a remote or clone that has it; if it may go, delete .git/filter-repo/ref-map"
	if !tip.IsZero() {
		what = fmt.Sprintf("git filter-repo rewrote the run, so it is not the run that other clones have: `%s --as %s` fetches it as it was, "+
			"and `%s` drops this one", fetch, fault.Word(timeline.FreeID(ctx, e.store, run)), fault.CommandLine("git smithers prune", run))
	}
	e.note(Finding{Kind: RewrittenRun, Where: run, What: what}, nil)
}

// filterRepoMap calls take with the columns of each line of a map of git filter-repo; the third is "" if the map has two.
func (e *examination) filterRepoMap(name string, take func(old, now, ref string)) error {
	file, err := os.Open(filepath.Join(e.git.repo.CommonDir, "filter-repo", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if f := append(strings.Fields(lines.Text()), ""); len(f) > 2 {
			take(f[0], f[1], f[2])
		}
	}
	return lines.Err()
}
