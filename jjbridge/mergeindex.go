package jjbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// mergingIndex is a temporary index in a folder of the quarantine.
type mergingIndex struct {
	m       *mergeJob
	dir     string
	entries bytes.Buffer // for git update-index --index-info
}

// newIndex makes a temporary index with git read-tree and args.
func (m *mergeJob) newIndex(ctx context.Context, args ...string) (*mergingIndex, error) {
	dir, err := os.MkdirTemp(m.c.quarantine.Dir, "merge-")
	if err != nil {
		return nil, err
	}
	x := &mergingIndex{m: m, dir: dir}
	if _, err := x.run(ctx, nil, append([]string{"read-tree"}, args...)...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return x, nil
}

// run runs git on the index.
func (x *mergingIndex) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return x.m.run(ctx, filepath.Join(x.dir, "index"), stdin, args...)
}

// files returns the entries of the index by path.
func (x *mergingIndex) files(ctx context.Context) (map[string]treeFile, error) {
	out, err := x.run(ctx, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	files := make(map[string]treeFile)
	for _, line := range splitPaths(out) {
		head, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if len(fields) != 3 {
			return nil, fmt.Errorf("git: unexpected line of an index %q", line)
		}
		if files[path], err = parseTreeFile(fields[0], fields[1]); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// set puts file at path when tree is called. A zero file removes the path.
func (x *mergingIndex) set(path string, file treeFile) {
	appendIndexInfo(&x.entries, algorithm(x.m.w.Repo), path, file, 0)
}

// appendIndexInfo appends an entry for git update-index -z --index-info. A zero file removes all entries at path.
func appendIndexInfo(to *bytes.Buffer, hash objstore.Algorithm, path string, file treeFile, stage int) {
	id := file.id.String()
	if !file.exists() {
		id = strings.Repeat("0", 2*hash.Size())
	}
	fmt.Fprintf(to, "%o %s %d\t%s\x00", file.mode, id, stage, path)
}

// tree makes the changes of set and writes the tree of the index.
func (x *mergingIndex) tree(ctx context.Context) (objstore.ID, error) {
	if x.entries.Len() > 0 {
		if _, err := x.run(ctx, x.entries.Bytes(), "update-index", "-z", "--index-info"); err != nil {
			return objstore.ID{}, err
		}
	}
	out, err := x.run(ctx, nil, "write-tree")
	if err != nil {
		return objstore.ID{}, err
	}
	return objstore.ParseID(strings.TrimSpace(string(out)))
}

// mergeIndex merges with a temporary index and git merge-file, for a git without merge-tree --write-tree.
func (m *mergeJob) mergeIndex(ctx context.Context) (_ *Merged, err error) {
	index, err := m.newIndex(ctx, "-i", "-m", "--aggressive", m.req.Base.String(), m.req.Ours.String(), m.req.Theirs.String())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(index.dir)) }()
	out, err := index.run(ctx, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	unmerged, err := parseStages(out)
	if err != nil {
		return nil, err
	}
	if err := collision(out); err != nil {
		return nil, err
	}
	merged := new(Merged)
	for _, one := range unmerged {
		file, clean, err := m.mergeFile(ctx, index.dir, one)
		if err != nil {
			return nil, err
		}
		// The removal drops the stages of the path.
		index.set(one.Path, treeFile{})
		index.set(one.Path, file)
		if !clean {
			one.marked = file != one.stages[1] && file != one.stages[2]
			merged.Conflicts = append(merged.Conflicts, one)
		}
	}
	merged.Tree, err = index.tree(ctx)
	return merged, err
}

// collision returns an error that wraps ErrCollides if an index has a file at the path of a folder. out is the output of
// git ls-files -z --stage.
func collision(out []byte) error {
	files := make(map[string]bool)
	for _, line := range splitPaths(out) {
		_, path, _ := strings.Cut(line, "\t")
		files[path] = true
	}
	for path := range files {
		for at := len(path); at > 0; {
			if at = strings.LastIndexByte(path[:at], '/'); at > 0 && files[path[:at]] {
				return fmt.Errorf("%w: %s", ErrCollides, path[:at])
			}
		}
	}
	return nil
}

// mergeFile merges the versions of one file. It returns the merged file, and reports whether the merge is clean. If the
// versions cannot be merged, the result is our version or, if there is none, their version. dir is a folder for
// temporary files.
func (m *mergeJob) mergeFile(ctx context.Context, dir string, one MergeConflict) (treeFile, bool, error) {
	base, ours, theirs := one.stages[0], one.stages[1], one.stages[2]
	switch {
	case !ours.exists():
		return theirs, false, nil
	case !theirs.exists() || !ours.isRegular() || !theirs.isRegular():
		return ours, false, nil
	}
	if !base.isRegular() {
		base = treeFile{}
	}
	out := ours
	cleanMode := true
	if ours.mode != theirs.mode {
		switch {
		case base.mode == ours.mode:
			out.mode = theirs.mode
		case base.mode != theirs.mode:
			cleanMode = false
		}
	}
	var files []string
	for i, version := range []treeFile{ours, base, theirs} {
		var data []byte
		if version.exists() {
			var err error
			if data, err = m.run(ctx, "", nil, "cat-file", "blob", version.id.String()); err != nil {
				return ours, false, err
			}
		}
		files = append(files, filepath.Join(dir, []string{"ours", "base", "theirs"}[i]))
		if err := os.WriteFile(files[i], data, 0o600); err != nil {
			return ours, false, err
		}
	}
	data, err := m.run(ctx, "", nil, append([]string{"merge-file", "-p", "-q", "-L", m.req.OursLabel, "-L", "base", "-L", m.req.Label, "--"}, files...)...)
	clean := err == nil
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 {
		// The status is the number of conflicts, at most 127, or 255 for a file that is not text.
		if failed.Status > 127 {
			return out, false, nil
		}
		err = nil
	}
	if err != nil {
		return ours, false, err
	}
	out.id, err = m.add(objstore.Blob, data)
	return out, clean && cleanMode, err
}

// isRegular reports whether the entry is a file, executable or not.
func (f treeFile) isRegular() bool {
	return f.mode == objstore.ModeFile || f.mode == objstore.ModeExecutable
}
