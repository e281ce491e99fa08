package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/share/secretscan"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// BundleRequest says what a bundle has.
type BundleRequest struct {
	Runs  []string // ids or unique prefixes
	Allow []string // digests of secrets that the bundle may have; see secretscan.Finding
}

// Bundle writes the runs of a request, the runs that they have called, and all objects that they reach to w. The format is a git
// bundle, which `git clone` and `git fetch` can read, too. Bundle returns the ids of the runs, each once. The
// error's code is usage if no run is given. After an error, w may have an incomplete bundle.
//
// Unless smithers.secrets is off, Bundle first searches the runs for secrets. If it finds one that is not allowed, the code is
// secrets_found, and Bundle writes nothing.
func (s *Sharer) Bundle(ctx context.Context, w io.Writer, req BundleRequest) ([]string, error) {
	var ids []string
	var searched []secretscan.Run
	var names []refs.Name
	add := func(id string, tip objstore.ID) error {
		if slices.Contains(ids, id) {
			return nil
		}
		name, err := refs.Tip(id)
		ids, names, searched = append(ids, id), append(names, name), append(searched, secretscan.Run{ID: id, Tip: tip})
		return timeline.Explain(err)
	}
	for _, run := range req.Runs {
		id, tip, err := s.store.FindRun(ctx, run, timeline.ToRead)
		if err != nil {
			return nil, err
		}
		if err := add(id, tip); err != nil {
			return nil, err
		}
	}
	for _, run := range slices.Clone(searched) {
		called, err := s.called(ctx, run.Tip)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		for _, c := range called {
			if err := add(c.id, c.tip); err != nil {
				return nil, err
			}
		}
	}
	if len(ids) == 0 {
		return nil, fault.New(fault.Usage, "no runs to bundle").Hint("name at least one run")
	}
	if _, err := s.searchRuns(ctx, secretscan.Request{Runs: searched, Allow: req.Allow}, "no bundle was written"); err != nil {
		return nil, err
	}
	return ids, timeline.Explain(s.transport().Bundle(ctx, w, names, nil))
}

// Unbundle fetches runs from the bundle file at path, as [Sharer.Fetch] fetches runs from a remote. runs are whole run
// ids; without runs, Unbundle fetches all runs in the bundle. If as is not empty, exactly one run must be named, and
// Unbundle stores that run under the id as; see FetchRequest.As. At the end, Unbundle deletes the tracking refs of the
// bundle. The error's code is invalid_bundle if git cannot read the file as a bundle, or one of Fetch's codes.
func (s *Sharer) Unbundle(ctx context.Context, path, as string, runs ...string) (*FetchResult, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if err := checkBundle(path); err != nil {
		return nil, err
	}
	from := remotes.Place{Name: path, Component: refs.RemoteComponent(path, false)}
	out, err := s.fetch(ctx, from, FetchRequest{Runs: runs, As: as, command: "unbundle"})
	if _, forgetErr := s.forget(context.WithoutCancel(ctx), from); forgetErr != nil {
		s.store.Warn(fmt.Errorf("the tracking refs of the bundle were not deleted: %w", forgetErr))
	}
	return out, explainBundle(err, path)
}

// checkBundle returns an error with code invalid_bundle if the file at path cannot be opened or does not begin
// with the header of a git bundle. It accepts every version of the bundle format.
func checkBundle(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fault.New(fault.InvalidBundle, "the bundle cannot be opened: %w", err).Hint("name a file that `git smithers bundle` wrote")
	}
	defer file.Close() //nolint:errcheck // opened for reading
	beginning := []byte("# v? git bundle\n")
	got := make([]byte, len(beginning))
	_, err = io.ReadFull(file, got)
	if err == nil {
		// the digit of the version, in place of "?"
		beginning[3] = got[3]
	}
	if err != nil || !bytes.Equal(got, beginning) {
		return fault.New(fault.InvalidBundle, "%s is not a git bundle", path).Hint("name a file that `git smithers bundle` wrote")
	}
	return nil
}

// explainBundle turns an error of git about the bundle at path into an error with code invalid_bundle and git's
// reason. The bundle may be cut short or damaged, or need objects that this repository lacks. explainBundle
// returns any other error, and nil, unchanged.
func explainBundle(err error, path string) error {
	if code := fault.CodeOf(err); code != fault.RemoteFailed && code != fault.GitFailed {
		return err
	}
	said := "git gives no reason"
	if git, ok := errors.AsType[*gitexec.Error](err); ok && git.Stderr != "" {
		said = git.Stderr
	}
	return fault.New(fault.InvalidBundle, "%s cannot be read: %s", path, said).
		Hint("no run was fetched from the bundle; make the bundle again")
}
