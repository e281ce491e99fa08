package doctor

import (
	"bufio"
	"context"
	"fmt"
	"iter"
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
	for f := range e.filterRepoMap("ref-map") {
		if name := refs.Name(f[2]); isIn(name, refs.TipsFolder) && tips[name].String() == f[1] {
			e.noteRewritten(ctx, name, tips[name])
		}
	}
	var holding []string
	for f := range e.filterRepoMap("commit-map") {
		holding = append(holding, bases[f[0]]...)
		delete(bases, f[0]) // the other tool may have rewritten it, too
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
				"`" + fault.CommandLine("git replace", "-d", id.String()) + "` ends that"}, nil)
		}
	}
	return ctx.Err()
}

// noteRewritten notes the run of a tip that git filter-repo rewrote to tip, or deleted if tip is zero.
func (e *examination) noteRewritten(ctx context.Context, name refs.Name, tip objstore.ID) {
	run, remote := runOf(name), "REMOTE"
	if having := e.remotesOf(name); len(having) > 0 {
		remote = having[0]
	}
	command := fault.CommandLine("git smithers fetch", remote, run)
	what := "git filter-repo deleted the run: `" + command + "` fetches it from a remote or clone that has it; if it may go, delete .git/filter-repo/ref-map"
	if !tip.IsZero() {
		what = fmt.Sprintf("git filter-repo rewrote the run, so it is not the run that other clones have: `%s --as %s` fetches it as it was, "+
			"and `%s` drops this one", command, fault.Word(timeline.FreeID(ctx, e.store, run, "")), fault.CommandLine("git smithers prune", run))
	}
	e.note(Finding{Kind: RewrittenRun, Where: run, What: what}, nil)
}

// filterRepoMap yields the columns of the lines of a map of git filter-repo in which old and new differ: old, new and, in ref-map, the ref.
func (e *examination) filterRepoMap(name string) iter.Seq[[3]string] {
	return func(yield func([3]string) bool) {
		file, err := os.Open(filepath.Join(e.git.repo.CommonDir, "filter-repo", name))
		if err != nil {
			return // it never ran
		}
		defer file.Close()                     //nolint:errcheck // only read
		in := bufio.NewReaderSize(file, 1<<16) // of a longer line, which has no ref, the parts count
		for line, _, err := in.ReadLine(); err == nil; line, _, err = in.ReadLine() {
			var f [3]string
			if n := copy(f[:], strings.Fields(string(line))); n > 1 && f[0] != f[1] && !yield(f) {
				return
			}
		}
	}
}
