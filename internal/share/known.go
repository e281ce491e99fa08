package share

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// addressBook stores the addresses of remotes that the configuration does not name.
type addressBook struct{ store *timeline.Store }

// path returns the path of the file that stores the address of a remote. component is the remote's ref component.
func (b addressBook) path(component string) string {
	return filepath.Join(b.store.Private(), "remotes", component)
}

// note stores the address of a remote, without secrets, so that later messages can show the address. If the
// configuration names the remote, or the address is already stored, note does nothing. A failure is only a warning.
func (b addressBook) note(at remotes.Place) {
	if at.Configured || b.place(at.Component).Name == at.Shown() {
		return
	}
	path := b.path(at.Component)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, []byte(at.Shown()+"\n"), 0o666)
	}
	if err != nil {
		b.store.Warn(fmt.Errorf("the address of the remote was not stored: %w", err))
	}
}

// place returns the remote with the given ref component. The remote's name is its stored address. If no address is
// stored, the name is decoded from the component. If the component encodes no name, the name is the component itself.
func (b addressBook) place(component string) remotes.Place {
	name := component
	if data, err := os.ReadFile(b.path(component)); err == nil {
		name = strings.TrimSuffix(string(data), "\n")
	} else if remote, ok, err := refs.UnescapeRun(component); err == nil && ok {
		name = remote
	}
	return remotes.Place{Name: name, Component: component}
}

// ForgetResult is the result of [Sharer.Forget].
type ForgetResult struct {
	Remote string `json:"remote"`
	Refs   int    `json:"refs"` // number of deleted tracking refs
}

// Forget deletes everything that this repository stores about a remote: its tracking refs, its address, the times of fetches, and the
// permission to push untracked files. remote is the remote's name, URL or ref component. Forget does not contact the
// remote. If this repository stores nothing about the remote, the error's code is remote_not_found.
func (s *Sharer) Forget(ctx context.Context, remote string) (*ForgetResult, error) {
	places, err := s.places(ctx, nil)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	named, namedErr := remotes.Find(s.store, remote)
	if namedErr == nil { // a push that the remote refused leaves an address and a permission, and no refs
		places = append(places, named)
	}
	for _, at := range places {
		if at.Component != remote && at.Shown() != remote && (namedErr != nil || at.Component != named.Component) {
			continue
		}
		count, err := s.forget(ctx, at)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		_ = os.RemoveAll(filepath.Join(fetchedFolder(s.store), at.Component)) // of no use without the refs
		noted := false
		for _, path := range []string{addressBook{s.store}.path(at.Component), pushAnswers{s.store}.path(at)} {
			err := os.Remove(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, timeline.Explain(err)
			}
			noted = noted || err == nil
		}
		if count > 0 || noted {
			return &ForgetResult{at.Shown(), count}, nil
		}
	}
	return nil, fault.New(fault.RemoteNotFound, "this repository stores nothing about remote %q", remote).
		Hint("`git smithers remote` lists the known remotes").Detail("remote", remote)
}

// forget deletes the tracking refs of a remote, including refs with invalid names, and returns the number of refs to
// delete. If git fails, some or all of these refs still exist.
func (s *Sharer) forget(ctx context.Context, at remotes.Place) (int, error) {
	git := gitexec.Process{Dir: s.store.Repo().CommonDir, Env: gitexec.PlumbingEnv(s.store.Env()), Options: []string{"--git-dir=."}}
	list := git
	list.Args = []string{"for-each-ref", "--format=delete %(refname) %(objectname)", refs.RemoteFolder(at.Component)}
	out, _, err := list.Run(ctx)
	if err != nil || len(out) == 0 {
		return 0, err
	}
	count := strings.Count(string(out), "\n")
	git.Apart = true
	git.Args, git.Stdin = []string{"update-ref", "--stdin"}, strings.NewReader(string(out))
	_, _, err = git.Run(ctx)
	return count, err
}
