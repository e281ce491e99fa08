package jjbridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// MergeRequest asks for a merge of three trees: the changes from Base to Theirs are made to Ours.
type MergeRequest struct {
	Base, Ours, Theirs objstore.ID
	Label              string // the name of Theirs in conflict markers
	OursLabel          string // the name of Ours in conflict markers; "" means HEAD
}

// Merged is the result of a merge.
type Merged struct {
	Tree      objstore.ID     // files in conflict have conflict markers, or the content of one side
	Conflicts []MergeConflict // sorted by path; empty for a clean merge
}

// MergeConflict is a path in conflict, with the versions that git's index keeps as the stages 1, 2 and 3: base, ours and
// theirs. A version that a side lacks is zero.
type MergeConflict struct {
	Path   string
	marked bool // the merged file has conflict markers; otherwise it is the version of one side
	stages [3]treeFile
}

// Kind says what the merged file of a conflict has: "markers", or one version: "deleted" means theirs, because ours lacks the file, "added" ours,
// because theirs lacks it, and "kept" ours, because the two cannot be merged.
func (c MergeConflict) Kind() string {
	ours, theirs := c.stages[1].exists(), c.stages[2].exists()
	switch {
	case c.marked:
		return "markers"
	case theirs && !ours:
		return "deleted"
	case ours && !theirs:
		return "added"
	}
	return "kept"
}

// Paths returns the paths in conflict.
func (m *Merged) Paths() []string {
	paths := make([]string, len(m.Conflicts))
	for i, c := range m.Conflicts {
		paths[i] = c.Path
	}
	return paths
}

// SameConflicts reports whether m and other have the same conflicts: equal paths with equal versions.
func (m *Merged) SameConflicts(other *Merged) bool { return slices.Equal(m.Conflicts, other.Conflicts) }

// ErrCollides is wrapped by the error of a merge that needs a newer git: a file of one side is where the other side
// has a folder.
var ErrCollides = errors.New("a file is where the other side has a folder")

// NewScratch returns a capture without files. Merges can write their objects to it. objects is the repository's object store.
// The caller must close the result.
func (w *Workspace) NewScratch(ctx context.Context, objects *objstore.Store) (*CapturedFiles, error) {
	c := &CapturedFiles{repository: objects}
	return c.unless(c.scratch(ctx, w))
}

// scratch makes sure that the capture has a quarantine, and moves the objects in memory into the quarantine.
func (c *CapturedFiles) scratch(ctx context.Context, w *Workspace) error {
	if c.quarantine == nil {
		p, err := w.lockIndex(ctx)
		if err != nil {
			return err
		}
		c.quarantine, err = p.NewQuarantine()
		if err = errors.Join(err, p.Unlock()); err != nil {
			return err
		}
		c.objects = c.quarantine.Dir
	}
	_, err := c.directory(ctx, w)
	return err
}

// Merge merges three trees. The trees may have objects of c; the new objects of the result are added to c. It uses git's
// own merge, with the user's settings for merges. With a git before 2.38, which cannot merge without a working copy,
// Merge finds no renames and runs no merge drivers, and the error wraps ErrCollides if a file is where the other side
// has a folder.
func (w *Workspace) Merge(ctx context.Context, c *CapturedFiles, req MergeRequest) (*Merged, error) {
	switch {
	case req.Base == req.Theirs || req.Ours == req.Theirs:
		return &Merged{Tree: req.Ours}, nil
	case req.Base == req.Ours:
		return &Merged{Tree: req.Theirs}, nil
	}
	if err := c.scratch(ctx, w); err != nil {
		return nil, err
	}
	req.OursLabel = cmp.Or(req.OursLabel, "HEAD")
	job := &mergeJob{w: w, c: c, req: req, env: c.quarantine.GitEnv(objectsDir(w.Repo), w.env)}
	merged, err := job.mergeTree(ctx)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status == usageStatus {
		return job.mergeIndex(ctx)
	}
	return merged, err
}

// usageStatus is the exit status of a git that does not know an option.
const usageStatus = 129

// mergeJob is one merge, whose objects git writes to the quarantine of c.
type mergeJob struct {
	w   *Workspace
	c   *CapturedFiles
	req MergeRequest
	env []string
}

// run runs git with the objects of the quarantine. index is the path of git's index, or "" if git needs no index.
func (m *mergeJob) run(ctx context.Context, index string, stdin []byte, args ...string) ([]byte, error) {
	run := gitRun{args: args, env: m.env}
	if index != "" {
		run.env = append(slices.Clone(m.env), "GIT_INDEX_FILE="+index)
	}
	if stdin != nil {
		run.stdin = bytes.NewReader(stdin)
	}
	return m.w.gitWith(ctx, run)
}

// add adds an object to the quarantine and returns its id.
func (m *mergeJob) add(kind objstore.Kind, data []byte) (objstore.ID, error) {
	id := algorithm(m.w.Repo).ID(kind, data)
	return id, m.c.quarantine.Add(id, kind, data)
}

// commit adds a commit with the given tree and parent to the quarantine. A zero parent means no parent.
func (m *mergeJob) commit(tree, parent objstore.ID, subject string) (objstore.ID, error) {
	text := "tree " + tree.String() + "\n"
	if !parent.IsZero() {
		text += "parent " + parent.String() + "\n"
	}
	const ident = "git-smithers <git-smithers@invalid> 0 +0000\n"
	return m.add(objstore.Commit, []byte(text+"author "+ident+"committer "+ident+"\n"+subject+"\n"))
}

// mergeTree merges with git merge-tree. git finds the base of the merge as the parent of two commits, because a git
// before 2.40 takes no base.
func (m *mergeJob) mergeTree(ctx context.Context) (*Merged, error) {
	base, err := m.commit(m.req.Base, objstore.ID{}, "base")
	if err != nil {
		return nil, err
	}
	ours, err := m.commit(m.req.Ours, base, "ours")
	if err != nil {
		return nil, err
	}
	theirs, err := m.commit(m.req.Theirs, base, "theirs")
	if err != nil {
		return nil, err
	}
	out, err := m.run(ctx, "", nil, "merge-tree", "--write-tree", "-z", "--no-messages", ours.String(), theirs.String())
	for _, id := range []objstore.ID{base, ours, theirs} {
		if err := os.Remove(m.c.quarantine.File(id)); err != nil {
			return nil, err
		}
	}
	// git exits with status 1 if there are conflicts.
	if failed, ok := errors.AsType[*gitexec.Error](err); err != nil && (!ok || failed.Status != 1 || len(out) == 0) {
		return nil, err
	}
	merged, err := parseMergeTree(out)
	if err != nil || len(merged.Conflicts) == 0 {
		return merged, err
	}
	return merged, m.relabel(ctx, merged, ours.String(), theirs.String())
}

// parseMergeTree parses the output of git merge-tree -z: a tree, and the versions of the files in conflict.
func parseMergeTree(out []byte) (*Merged, error) {
	tree, rest, _ := bytes.Cut(out, []byte{0})
	id, err := objstore.ParseID(string(tree))
	if err != nil {
		return nil, fmt.Errorf("git merge-tree: unexpected output %q", tree)
	}
	conflicts, err := parseStages(rest)
	return &Merged{Tree: id, Conflicts: conflicts}, err
}

// parseStages parses lines of an index, each with mode, id, stage and path, and returns the paths in conflict. An empty
// line ends the list.
func parseStages(out []byte) ([]MergeConflict, error) {
	found := make(map[string]*MergeConflict)
	for line := range bytes.SplitSeq(out, []byte{0}) {
		if len(line) == 0 {
			break
		}
		head, path, ok := bytes.Cut(line, []byte{'\t'})
		fields := strings.Fields(string(head))
		if !ok || len(fields) != 3 || len(fields[2]) != 1 || fields[2] < "0" || fields[2] > "3" {
			return nil, fmt.Errorf("git: unexpected line of an index %q", line)
		}
		file, err := parseTreeFile(fields[0], fields[1])
		if err != nil {
			return nil, err
		}
		if fields[2] == "0" {
			continue
		}
		one := found[string(path)]
		if one == nil {
			one = &MergeConflict{Path: string(path)}
			found[one.Path] = one
		}
		one.stages[fields[2][0]-'1'] = file
	}
	conflicts := make([]MergeConflict, 0, len(found))
	for _, one := range found {
		conflicts = append(conflicts, *one)
	}
	slices.SortFunc(conflicts, func(a, b MergeConflict) int { return cmp.Compare(a.Path, b.Path) })
	return conflicts, nil
}

// relabel replaces the ids of the two commits in conflict markers, and in the names of files that git has moved out of
// the way of a folder. The labels are those of the request.
func (m *mergeJob) relabel(ctx context.Context, merged *Merged, ours, theirs string) error {
	inFile := strings.NewReplacer("<<<<<<< "+ours, "<<<<<<< "+m.req.OursLabel, ">>>>>>> "+theirs, ">>>>>>> "+m.req.Label)
	inPath := strings.NewReplacer("~"+ours, "~"+m.req.OursLabel, "~"+theirs, "~"+strings.ReplaceAll(m.req.Label, "/", "_"))
	index, err := m.newIndex(ctx, merged.Tree.String())
	if err != nil {
		return err
	}
	defer os.RemoveAll(index.dir) //nolint:errcheck // the quarantine is removed with everything in it
	files, err := index.files(ctx)
	if err != nil {
		return err
	}
	for i := range merged.Conflicts {
		one := &merged.Conflicts[i]
		file, was := files[one.Path], one.Path
		one.Path = inPath.Replace(was)
		now := file
		if file.isRegular() {
			data, err := m.run(ctx, "", nil, "cat-file", "blob", file.id.String())
			if err != nil {
				return err
			}
			if now.id, err = m.add(objstore.Blob, []byte(inFile.Replace(string(data)))); err != nil {
				return err
			}
			one.marked = now.id != file.id
		}
		if !file.exists() || now == file && one.Path == was {
			continue // git has removed the file, or it has no marker
		}
		index.set(was, treeFile{})
		index.set(one.Path, now)
	}
	merged.Tree, err = index.tree(ctx)
	return err
}
