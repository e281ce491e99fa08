package keep

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
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/refs/transport"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// remotesOf returns the configured remotes that were last seen to have a ref's run, sorted by name.
func (e *examination) remotesOf(name refs.Name) []string {
	component := path.Base(string(name))
	var having []string
	for _, remote := range e.store.Remotes() {
		tracking := refs.Name(refs.RemoteFolder(refs.RemoteComponent(remote, true)) + component)
		if slices.ContainsFunc(e.refs.Items, func(item refs.Item) bool { return item.Name == tracking && item.Broken == nil }) {
			having = append(having, remote)
		}
	}
	return having
}

// fetchAgain gets the missing objects of a run from its remotes, one after the other, until none is
// missing. git does not fetch objects that it believes to have, so the run is fetched into a
// temporary repository first.
func (k *Keeper) fetchAgain(ctx context.Context, item refs.Item, having []string) error {
	var failed []error
	for _, remote := range having {
		if err := k.fetchFrom(ctx, remote, item); err != nil {
			failed = append(failed, err)
			continue
		}
		lost, err := k.lostOf(ctx, item.ID)
		if err != nil || len(lost) == 0 {
			return err
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return fault.New(fault.MissingObject, "%s lacks objects that run %q needs", strings.Join(having, " and "), runOf(item.Name))
}

// fetchFrom copies the missing objects of a run from one remote.
func (k *Keeper) fetchFrom(ctx context.Context, remote string, item refs.Item) (err error) {
	temp := filepath.Join(k.store.Private(), "tmp")
	if err := os.MkdirAll(temp, 0o777); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(temp, "fetch-again-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := gitexec.InitBare(ctx, scratch, k.store.Env()); err != nil {
		return err
	}
	// The temporary repository uses this repository's remote, credentials and proxies.
	include := fmt.Sprintf("[include]\n\tpath = %s\n", quoted(filepath.Join(k.repo.CommonDir, "config")))
	if err := appendTo(filepath.Join(scratch, "config"), include); err != nil {
		return err
	}
	repo := gitexec.Repo{
		GitDir: scratch, CommonDir: scratch, WorkTree: cmp.Or(k.repo.WorkTree, k.repo.GitDir),
		ObjectFormat: "sha1", RefFormat: "files",
	}
	name := refs.TipsFolder + path.Base(string(item.Name))
	over := transport.New(transport.Options{Repo: repo, Env: k.store.Env()})
	if err := over.Fetch(ctx, remote, []transport.Spec{{From: name, To: name}}, false); err != nil {
		return k.explainFetch(remote, err)
	}
	return k.takeObjects(ctx, filepath.Join(scratch, "objects"), item.ID)
}

func (k *Keeper) explainFetch(remote string, err error) error {
	if errors.Is(err, refs.ErrNotFound) {
		return fault.New(fault.MissingObject, "%s does not have the run any more: %w", remote, err)
	}
	at, placeErr := k.store.Place(remote)
	if placeErr != nil {
		return placeErr
	}
	return at.Explain(err)
}

// quoted returns a path as a value for git's configuration.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.ToSlash(path)) + `"`
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
