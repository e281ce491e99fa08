package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// unpromisedRounds is the maximal number of searches that Unpromised makes. Each search finds one object, and
// git reads the list of objects that the promisor packs name again.
const unpromisedRounds = 100

// unexpectedlyMissing matches the message of git rev-list about a missing object that no remote promises.
var unexpectedlyMissing = lazyregexp.New(`unexpected missing \w+ object '([0-9a-f]+)'`)

// Unpromised returns those objects in candidates that no remote has promised to a partial clone, in the order of
// candidates. An object that exists counts as promised. If the repository is not a partial clone, Unpromised
// returns all of candidates. It searches for one object after the other. If it has found unpromisedRounds objects,
// it gives up and returns all of candidates. It fetches nothing.
func Unpromised(ctx context.Context, store *timeline.Store, candidates []objstore.ID) (_ []objstore.ID, err error) {
	if len(candidates) == 0 || !store.Repo().Config.IsPartial() {
		return candidates, nil
	}
	temp := filepath.Join(store.Private(), "tmp")
	if err := os.MkdirAll(temp, 0o777); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(temp, "promised-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var lost []objstore.ID
	for range unpromisedRounds {
		one, err := firstUnpromised(ctx, store, scratch, candidates, lost)
		if err != nil || one.IsZero() {
			return inOrder(candidates, lost), err
		}
		lost = append(lost, one)
	}
	return candidates, nil // with so many lost objects, a search for each of the others would take too long
}

// firstUnpromised returns an object that is in candidates and not in lostIDs, and that no remote has promised. It
// returns the zero id if there is no such object. It writes a tree that names the objects to the folder scratch.
// git then walks the tree, and stops with an error at the first object that is missing and not promised.
func firstUnpromised(ctx context.Context, store *timeline.Store, scratch string, candidates, lostIDs []objstore.ID) (objstore.ID, error) {
	var entries []objstore.TreeEntry
	known := asSet(lostIDs)
	for i, id := range candidates {
		// A tree must be sorted by name, so the names have leading zeros.
		if !known[id] {
			entries = append(entries, objstore.TreeEntry{Mode: objstore.ModeFile, Name: fmt.Sprintf("%010d", i), ID: id})
		}
	}
	tree := objstore.EncodeTree(entries)
	git := gitexec.Process{
		Dir: store.Repo().CommonDir, Env: append(gitexec.PlumbingEnv(store.Env()), "GIT_OBJECT_DIRECTORY="+scratch),
		Options: []string{"--git-dir=.", "--no-replace-objects"},
		Args:    []string{"hash-object", "-t", "tree", "-w", "--stdin"}, Stdin: bytes.NewReader(tree),
	}
	if _, _, err := git.Run(ctx); err != nil {
		return objstore.ID{}, err
	}
	git.Env = append(gitexec.PlumbingEnv(store.Env()), "GIT_ALTERNATE_OBJECT_DIRECTORIES="+scratch)
	git.Args = []string{"rev-list", "--objects", "--quiet", "--missing=allow-promisor", store.Objects().Hash().ID(objstore.Tree, tree).String()}
	git.Stdin = nil
	_, _, err := git.Run(ctx)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok {
		if match := unexpectedlyMissing.FindStringSubmatch(failed.Stderr); match != nil {
			return objstore.ParseID(match[1])
		}
	}
	return objstore.ID{}, err
}

// asSet returns a set of ids.
func asSet(ids []objstore.ID) map[objstore.ID]bool {
	set := make(map[objstore.ID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// inOrder returns the ids that are in both slices, in the order of all.
func inOrder(all, some []objstore.ID) []objstore.ID {
	wanted := asSet(some)
	var out []objstore.ID
	for _, id := range all {
		if wanted[id] {
			out = append(out, id)
		}
	}
	return out
}
