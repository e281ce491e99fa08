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
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// addressPath is the file that says where a remembered place is that has no name: without
// what its URL may hold for its server alone.
func (s *Sharer) addressPath(component string) string {
	return filepath.Join(s.parts.Private, "remotes", component)
}

// noteAddress keeps where a place without a name is, for people who ask what is where.
func (s *Sharer) noteAddress(at timeline.Place) {
	if at.Configured || s.notedPlace(at.Component).Name == at.Shown() {
		return
	}
	path := s.addressPath(at.Component)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, []byte(at.Shown()+"\n"), 0o666)
	}
	if err != nil {
		s.parts.Warn(fmt.Errorf("remember where the remote is: %w", err))
	}
}

// notedPlace is a remembered place as it was noted or, where it was not, by what stands for
// it in the names of refs.
func (s *Sharer) notedPlace(component string) timeline.Place {
	name := component
	if data, err := os.ReadFile(s.addressPath(component)); err == nil {
		name = strings.TrimSuffix(string(data), "\n")
	} else if remote, ok, err := refs.UnescapeRun(component); err == nil && ok {
		name = remote
	}
	return timeline.Place{Name: name, Component: component}
}

// Forgotten is a remote of which nothing is remembered any more.
type Forgotten struct {
	Remote string `json:"remote"`
	Refs   int    `json:"refs"` // how many were deleted, here
}

// Forget takes away all that is remembered of a remote: what it was last seen to have, where
// it is, and that untracked files may go there. It asks no remote and changes none. Code:
// remote_not_found where nothing is remembered.
func (s *Sharer) Forget(ctx context.Context, remote string) (*Forgotten, error) {
	places, err := s.places(ctx, nil)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	named, namedErr := s.store.Place(remote)
	for _, at := range places {
		if at.Component != remote && at.Shown() != remote && (namedErr != nil || at.Component != named.Component) {
			continue
		}
		count, err := s.forget(ctx, at)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		noted := false
		for _, path := range []string{s.addressPath(at.Component), s.answerPath(at)} {
			err := os.Remove(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, timeline.Explain(err)
			}
			noted = noted || err == nil
		}
		if count > 0 || noted {
			return &Forgotten{at.Shown(), count}, nil
		}
	}
	return nil, fault.New(fault.RemoteNotFound, "nothing is remembered of a remote %q", remote).
		Hint("`git smithers remote` lists those of which something is").Detail("remote", remote)
}

// forget deletes what a place was last seen to have, also under names that no run has. It
// returns how many refs that were.
func (s *Sharer) forget(ctx context.Context, at timeline.Place) (int, error) {
	git := gitexec.Process{Dir: s.parts.Repo.CommonDir, Env: gitexec.PlumbingEnv(s.parts.Env), Options: []string{"--git-dir=."}}
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
