package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// addBase sets draft.Base, the base commit of a run's first entry. With a base, git knows at a push which code the
// remote already has. addBase changes nothing if draft.Base is already set, if draft has no files, or if the store
// has no working copy. If the search for a base fails, addBase warns and leaves draft.Base zero. addBase returns
// an error only if ctx ends.
func addBase(ctx context.Context, s *Store, draft *snapshot.Draft) error {
	if !draft.Base.IsZero() || draft.VCS == nil || draft.VCS.Tree.IsZero() || s.workspace.Root == "" {
		return nil
	}
	base, err := s.workspace.BaseCommit(ctx, s.settings.Remote)
	if err == nil && base.IsZero() && s.settings.Remote != "" {
		base, err = ownBase(ctx, s, draft)
	}
	if ctx.Err() != nil {
		return Explain(ctx.Err())
	}
	if err != nil {
		s.warn(fmt.Errorf("found no base commit for the run, so the run's first push sends all code: %w", err))
		return nil
	}
	draft.Base = base
	return nil
}

// ownBase returns a commit made by git-smithers that holds the code of draft and nothing else. If the commit of
// the ref refs.Base has the same code, ownBase returns it. Otherwise ownBase makes a commit on top of it and moves
// refs.Base to the new commit. If refs.Base does not exist, ownBase makes a root commit and creates the ref.
func ownBase(ctx context.Context, s *Store, draft *snapshot.Draft) (objstore.ID, error) {
	for try := 1; ; try++ {
		newest, err := s.refs.Resolve(ctx, refs.Base)
		if err != nil && !errors.Is(err, refs.ErrNotFound) {
			return objstore.ID{}, err
		}
		batch := s.objects.Begin()
		root := objstore.EncodeTree([]objstore.TreeEntry{{Name: "worktree", Mode: objstore.ModeTree, ID: draft.VCS.Tree}})
		tree := batch.Add(objstore.Tree, root)
		if !newest.IsZero() {
			if has, err := CommitTree(s.objects, newest); err != nil || has == tree {
				return newest, err
			}
		}
		if draft.Objects != nil {
			if err := draft.Objects(batch); err != nil {
				return objstore.ID{}, err
			}
		}
		base := batch.Add(objstore.Commit, encodeBase(tree, newest, draft.AtMs))
		err = s.Commit(ctx, batch, []refs.Update{{Name: refs.Base, Old: newest, New: base}})
		if fault.CodeOf(err) != fault.Conflict {
			return base, err
		}
		// Another run that is starting moved the ref first.
		if err := Pause(ctx, try); err != nil {
			return objstore.ID{}, err
		}
	}
}

// encodeBase returns the content of a base commit of the tree. A zero parent makes a root commit. atMs is the
// commit's date in Unix milliseconds.
func encodeBase(tree, parent objstore.ID, atMs int64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	if !parent.IsZero() {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	seconds := strconv.FormatInt(atMs/1000, 10)
	for _, who := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s %s %s +0000\n", who, objstore.Author, seconds)
	}
	b.WriteString("\ncode that runs build on\n")
	return b.Bytes()
}

// CommitTree returns the id of a commit's tree. id is the id of the commit. If the commit names no tree, the error
// is an *objstore.CorruptError.
func CommitTree(r objstore.Reader, id objstore.ID) (objstore.ID, error) {
	data, err := objstore.GetKind(r, id, objstore.Commit)
	if err != nil {
		return objstore.ID{}, err
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	digits, ok := bytes.CutPrefix(line, []byte("tree "))
	tree, err := objstore.ParseID(string(digits))
	if !ok || err != nil {
		return objstore.ID{}, &objstore.CorruptError{ID: id, Reason: "commit without a tree"}
	}
	return tree, nil
}

// IsOwnBase reports whether git-smithers made the commit as a base (see ownBase). It returns false for a user's
// commit and for an unreadable commit.
func IsOwnBase(r objstore.Reader, id objstore.ID) bool {
	data, err := objstore.GetKind(r, id, objstore.Commit)
	return err == nil && bytes.Contains(data, []byte("\nauthor "+objstore.Author+" "))
}
