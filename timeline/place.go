package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/refs/transport"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Place is another repository that runs go to and come from.
type Place struct {
	Name       string // what git is told: the name of a remote, a URL, or a path; it may hold a password
	Configured bool   // Name is a remote's
	Component  string // what stands for it in the names of refs
}

// Place finds the repository that a request means; "" is smithers.remote, the remote of
// the branch that is checked out, the only one, or origin. Code: remote_not_found.
func (s *Store) Place(remote string) (Place, error) {
	remotes := s.Remotes()
	if remote == "" {
		if remote = s.defaultRemote(remotes); remote == "" {
			return Place{}, noRemote("there is no remote to take", remotes)
		}
	}
	configured := slices.Contains(remotes, remote)
	if !configured && !isAddress(remote) {
		return Place{}, noRemote(fmt.Sprintf("no remote is called %q", remote), remotes).
			Hint("the remote comes first, and then the runs").Detail("remote", remote)
	}
	return placeOf(remote, configured), nil
}

func placeOf(name string, configured bool) Place {
	return Place{name, configured, refs.RemoteComponent(name, configured)}
}

func noRemote(message string, remotes []string) *fault.Error {
	err := fault.New(fault.RemoteNotFound, "%s", message)
	switch len(remotes) {
	case 0:
		return err.Hint("`git remote add origin URL` adds one; a URL or a path will do, too")
	default:
		return err.Hint("the remotes are %s; a URL or a path will do, too", strings.Join(remotes, ", "))
	}
}

// Remotes are the names of the configured remotes, sorted.
func (s *Store) Remotes() []string {
	var names []string
	for key := range s.repo.Config {
		name, ok := strings.CutPrefix(key, "remote.")
		for _, end := range []string{".url", ".pushurl"} {
			if name, isURL := strings.CutSuffix(name, end); ok && isURL {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RemotePlaces are the places that the configuration names, by component: remotes, and
// what their URLs stand for.
func (s *Store) RemotePlaces() map[string]Place {
	places := make(map[string]Place)
	for _, remote := range s.Remotes() {
		at := placeOf(remote, true)
		places[at.Component] = at
		url := placeOf(s.URL(at), false)
		places[url.Component] = url
	}
	return places
}

// defaultRemote is the remote that is meant where none is named; "" where there is none.
func (s *Store) defaultRemote(remotes []string) string {
	if s.settings.Remote != "" {
		return s.settings.Remote
	}
	if remote, _ := s.repo.Config.Get("branch." + s.branch() + ".remote"); slices.Contains(remotes, remote) {
		return remote
	}
	switch {
	case len(remotes) == 1:
		return remotes[0]
	case slices.Contains(remotes, "origin"):
		return "origin"
	}
	return ""
}

// branch is the branch that is checked out here; "" where none is. A linked worktree has
// a HEAD of its own, so the file is read, and not asked of a git in the common directory.
func (s *Store) branch() string {
	head, err := os.ReadFile(filepath.Join(s.repo.GitDir, "HEAD"))
	if err != nil {
		return ""
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	return branch
}

// isAddress reports whether a name that is no remote's may be a URL, host:path or a path.
// Relative paths are those of the working copy's top, as they are for git.
func isAddress(name string) bool {
	return strings.ContainsAny(name, `:/\`) && !strings.HasPrefix(name, "-")
}

// URL is where a place is: what its remote is configured with, or its own name.
func (s *Store) URL(at Place) string {
	if !at.Configured {
		return at.Name
	}
	url, _ := s.repo.Config.Get("remote." + at.Name + ".url")
	push, _ := s.repo.Config.Get("remote." + at.Name + ".pushurl")
	return cmp.Or(push, url)
}

// Shown is the place for people: without what a URL may hold for its own server alone.
func (p Place) Shown() string {
	scheme, rest, isURL := strings.Cut(p.Name, "://")
	host, path, slash := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if !isURL || at < 0 {
		return p.Name
	}
	user, server := host[:at], host[at+1:]
	if name, _, secret := strings.Cut(user, ":"); !secret && !strings.HasPrefix(scheme, "http") {
		server = name + "@" + server
	}
	if slash {
		server += "/"
	}
	return scheme + "://" + server + path
}

// Explain is Explain of an error of git about the place.
func (p Place) Explain(err error) error {
	if !errors.Is(err, transport.ErrRemote) {
		return Explain(err)
	}
	out := &fault.Error{Code: fault.RemoteFailed, Msg: p.Shown() + ": " + transport.Said(err), Err: err}
	out = out.Detail("remote", p.Shown())
	if transport.IsNowhere(err) {
		return out.Hint("see that the address is right, and that you may read what is there")
	}
	return out.Hint("nothing is lost: the same command again does what is left")
}
