package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// absentObjects finds the missing objects of runs, and copies them from remotes or other object directories.
type absentObjects struct {
	store *timeline.Store
	git   *gitRunner
}

// lost returns the unreadable objects that tips reach, sorted by id. In a partial clone, it leaves out the
// missing objects that a remote promises.
func (a *absentObjects) lost(ctx context.Context, tips ...objstore.ID) ([]objstore.ID, error) {
	_, lost, err := verify.Reached(ctx, a.store.Objects(), true, tips...)
	if err != nil || len(lost) == 0 || !a.git.repo.Config.IsPartial() {
		return lost, err
	}
	var damaged, missing []objstore.ID
	for _, id := range lost {
		if _, _, err := a.store.Objects().Get(id); errors.Is(err, objstore.ErrNotFound) {
			missing = append(missing, id)
		} else {
			damaged = append(damaged, id)
		}
	}
	if missing, err = verify.Unpromised(ctx, a.store, missing); err != nil {
		return nil, err
	}
	lost = append(damaged, missing...)
	slices.SortFunc(lost, objstore.ID.Compare)
	return lost, nil
}

// fetchAgain copies the missing objects of a run from remotes. It asks one remote after the other, and returns nil as
// soon as no object is missing. item is the tip of the run, or the ref that holds the pruned run. git does not fetch
// objects that it believes to have, so fetchAgain fetches the run into a temporary repository first. If objects are
// still missing after the last remote, fetchAgain returns the errors of the failed fetches or, if every fetch
// succeeded, missing_object.
func (a *absentObjects) fetchAgain(ctx context.Context, item refs.Item, remotes []string) error {
	var failed []error
	for _, remote := range remotes {
		if err := a.fetchFrom(ctx, remote, item); err != nil {
			failed = append(failed, err)
			continue
		}
		lost, err := a.lost(ctx, item.ID)
		if err != nil || len(lost) == 0 {
			return err
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return fault.New(fault.MissingObject, "objects of run %q are still missing after a fetch from %s", runOf(item.Name), strings.Join(remotes, " and "))
}

// fetchFrom copies the missing objects of a run from one remote, through a temporary repository. item is the tip of the
// run, or the ref that holds the pruned run. The error's code is missing_object if the remote does not have the run.
// Objects that the remote does not have either are not an error.
func (a *absentObjects) fetchFrom(ctx context.Context, remote string, item refs.Item) (err error) {
	temp := filepath.Join(a.store.Private(), "tmp")
	if err := os.MkdirAll(temp, 0o777); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(temp, "fetch-again-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := gitexec.InitBare(ctx, scratch, a.git.repo.ObjectFormat, a.store.Env()); err != nil {
		return err
	}
	// The temporary repository uses this repository's remote, credentials and proxies.
	include := fmt.Sprintf("[include]\n\tpath = %s\n", quoted(filepath.Join(a.git.repo.CommonDir, "config")))
	if err := appendTo(filepath.Join(scratch, "config"), include); err != nil {
		return err
	}
	repo := gitexec.Repo{
		GitDir: scratch, CommonDir: scratch, WorkTree: cmp.Or(a.git.repo.WorkTree, a.git.repo.GitDir),
		ObjectFormat: a.git.repo.ObjectFormat, RefFormat: "files",
	}
	name := refs.TipsFolder + path.Base(string(item.Name))
	over := transport.New(transport.Options{Repo: repo, Env: a.store.Env()})
	if err := over.Fetch(ctx, remote, []transport.Spec{{From: name, To: name}}, false); err != nil {
		return a.explainFetch(remote, err)
	}
	return a.takeObjects(ctx, filepath.Join(scratch, "objects"), item.ID)
}

// explainFetch adds a code to err, the error of a fetch from remote. The code is missing_object if the remote does not
// have the run, and otherwise the code that remotes.Explain gives err. If the remote is unknown, explainFetch returns the
// error about this instead of err.
func (a *absentObjects) explainFetch(remote string, err error) error {
	if errors.Is(err, refs.ErrNotFound) {
		return fault.New(fault.MissingObject, "%s does not have the run any more: %w", remote, err)
	}
	at, placeErr := remotes.Find(a.store, remote)
	if placeErr != nil {
		return placeErr
	}
	return at.Explain(err)
}

// quoted returns path as a quoted value for a git configuration file.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.ToSlash(path)) + `"`
}

// appendTo appends text to the existing file at path.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// takeObjects copies objects from the object directory dir: the objects that tip reaches and that are missing or
// corrupt in the store. It skips objects that dir does not have. The copies are on stable storage when takeObjects
// returns. If dir does not exist or is not accessible, takeObjects does nothing.
func (a *absentObjects) takeObjects(ctx context.Context, dir string, tip objstore.ID) (err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil // without a directory, no object can be copied
	}
	other, err := objstore.Open(objstore.Options{Hash: a.store.Objects().Hash(), ObjectsDir: dir, TempDir: filepath.Join(a.store.Private(), "tmp")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	for {
		_, lost, err := verify.Reached(ctx, a.store.Objects(), true, tip)
		if err != nil || len(lost) == 0 {
			return err
		}
		taken, err := a.take(ctx, other, lost)
		if err != nil || taken == 0 {
			return err
		}
		// The objects that the copied objects refer to may be missing, too.
	}
}

// take copies the objects with the given ids from other to the store, in batches of about 64 MiB. It returns the number
// of objects that it added to a batch. It skips objects that are missing or corrupt in other. After an error, the store
// has only the objects of the batches before.
func (a *absentObjects) take(ctx context.Context, other *objstore.Store, ids []objstore.ID) (taken int, err error) {
	const atOnce = 64 << 20 // bytes of object data in one batch
	batch, held := a.store.Objects().Begin(), 0
	for _, id := range ids {
		kind, data, err := other.Get(id)
		if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrCorrupt) {
			continue
		}
		if err != nil {
			return taken, err
		}
		batch.Add(kind, data)
		taken++
		if held += len(data); held >= atOnce {
			if err := batch.Commit(ctx, nil); err != nil {
				return taken, err
			}
			held = 0
		}
	}
	return taken, batch.Commit(ctx, nil)
}
