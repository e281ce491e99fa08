// Package remotes names the repositories that runs go to and come from: remotes, URLs and paths.
package remotes

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/reftable"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Place is another repository, to which runs are pushed and from which runs are fetched.
type Place struct {
	Name       string // the argument for git: the name of a remote, a URL or a path; a URL may hold a password
	Configured bool   // Name is the name of a remote
	Component  string // the component of refs/smithers-remote/ for this place
}

// Find returns the place that a request names: the name of a remote, a URL or a path. As with git, a relative path
// starts at the top of the working copy.
//
// If remote is "", Find uses the setting smithers.remote. Without this setting, it uses the first of these remotes
// that exists: the remote of the current branch, the only remote, and origin. The error is remote_not_found if no
// such remote exists, or if remote is neither a remote nor a URL or path.
func Find(s *timeline.Store, remote string) (Place, error) {
	remotes := Remotes(s)
	if remote == "" {
		if remote = defaultRemote(s, remotes); remote == "" {
			return Place{}, noRemote("no remote was given, and there is no default remote", remotes)
		}
	}
	configured := slices.Contains(remotes, remote)
	if !configured && !isAddress(remote) {
		return Place{}, noRemote(fmt.Sprintf("no remote is called %q", remote), remotes).
			Hint("give the remote first, and then the runs").Detail("remote", remote)
	}
	return placeOf(remote, configured), nil
}

// FindForPush is [Find] for what is sent. As with git push, the branch's pushRemote and remote.pushDefault come before the
// branch's remote, after smithers.remote. If runs would not go to the address from which the remote is fetched, the place is the
// address to which they go (pushurl, url.<base>.pushInsteadOf), so that what is there is compared with what is sent. The error is
// usage if that are several addresses.
func FindForPush(s *timeline.Store, remote string) (Place, error) {
	if remote == "" && s.Settings().Remote == "" {
		named, _ := s.Repo().Config.Get("branch." + branch(s) + ".pushremote")
		preset, _ := s.Repo().Config.Get("remote.pushdefault")
		remote = cmp.Or(named, preset)
	}
	at, err := Find(s, remote)
	if err != nil {
		return at, err
	}
	switch urls := pushURLs(s.Repo().Config, at); {
	case slices.Contains(urls, fetchURL(s.Repo().Config, at)):
		return at, nil
	case len(urls) == 1:
		return placeOf(urls[0], false), nil
	default:
		return at, fault.New(fault.Usage, "%q has several addresses for pushes, and is fetched from none of them", at.Name).
			Hint("give one of them: `git remote get-url --push --all %s` lists them", fault.Word(at.Name))
	}
}

// fetchURL returns the address from which git fetches a place.
func fetchURL(config gitexec.Config, at Place) string {
	if urls := config["remote."+at.Name+".url"]; at.Configured && len(urls) > 0 {
		return urls[0]
	}
	return at.Name
}

// pushURLs returns the addresses to which git pushes at a place, at least one. A remote has its own, or those of a fetch, rewritten.
func pushURLs(config gitexec.Config, at Place) []string {
	urls := []string{at.Name}
	if at.Configured {
		if own := config["remote."+at.Name+".pushurl"]; len(own) > 0 {
			return own
		}
		if fetched := config["remote."+at.Name+".url"]; len(fetched) > 0 {
			urls = slices.Clone(fetched)
		}
	}
	for i, url := range urls {
		longest := ""
		for key, prefixes := range config {
			base, ok := strings.CutSuffix(key, ".pushinsteadof")
			base, isURL := strings.CutPrefix(base, "url.")
			for _, prefix := range prefixes {
				if ok && isURL && len(prefix) > len(longest) && strings.HasPrefix(url, prefix) {
					longest, urls[i] = prefix, base+url[len(prefix):]
				}
			}
		}
	}
	return urls
}

// placeOf returns the place called name: a remote if configured is true, and otherwise a URL or a path.
func placeOf(name string, configured bool) Place {
	return Place{name, configured, refs.RemoteComponent(name, configured)}
}

// noRemote returns the error remote_not_found with message. Its hints list the existing remotes or, if no remote
// exists, name the command that adds a remote.
func noRemote(message string, remotes []string) *fault.Error {
	err := fault.New(fault.RemoteNotFound, "%s", message)
	switch len(remotes) {
	case 0:
		return err.Hint("`git remote add origin URL` adds a remote").Hint("or give a URL or a path in place of a remote")
	default:
		return err.Hint("choose one of the remotes: %s", strings.Join(remotes, ", ")).Hint("or give a URL or a path in place of a remote")
	}
}

// Remotes returns the names of the configured remotes, sorted.
func Remotes(s *timeline.Store) []string {
	var names []string
	for key := range s.Repo().Config {
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

// Configured returns the places that the configuration names: each remote, and the place of each remote's URL. The
// keys are the components of the places.
func Configured(s *timeline.Store) map[string]Place {
	places := make(map[string]Place)
	for _, remote := range Remotes(s) {
		at := placeOf(remote, true)
		places[at.Component] = at
		url := placeOf(URL(s, at), false)
		places[url.Component] = url
	}
	return places
}

// defaultRemote returns the remote for a request that names no remote: the setting smithers.remote, the remote of the
// current branch, the only remote, or origin, whichever exists first in this order. The setting is returned even if no
// such remote is configured. The result is "" if none exists. remotes are the configured remotes.
func defaultRemote(s *timeline.Store, remotes []string) string {
	if s.Settings().Remote != "" {
		return s.Settings().Remote
	}
	if remote, _ := s.Repo().Config.Get("branch." + branch(s) + ".remote"); slices.Contains(remotes, remote) {
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

// branch returns the branch that is checked out in the worktree of the store. It returns "" if HEAD is
// unreadable, and a commit's id if HEAD is detached. branch reads the file HEAD, because a linked worktree has
// its own HEAD, and git in the common directory reads the main worktree's HEAD.
func branch(s *timeline.Store) string {
	if repo := s.Repo(); repo.RefFormat != "files" {
		_, branch, _ := reftable.Head(repo.GitDir, repo.CommonDir, s.Objects().Hash())
		return branch
	}
	head, err := os.ReadFile(filepath.Join(s.Repo().GitDir, "HEAD"))
	if err != nil {
		return ""
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	return branch
}

// isAddress reports whether name may be a URL, host:path or a path. Such a name has a colon, a slash or a
// backslash, and does not begin with a dash.
func isAddress(name string) bool {
	return strings.ContainsAny(name, `:/\`) && !strings.HasPrefix(name, "-")
}

// URL returns the address of a place. For a remote, URL returns the last address to which git pushes. For any other place, URL returns the place's name. The result may hold a password.
func URL(s *timeline.Store, at Place) string {
	if !at.Configured {
		return at.Name
	}
	urls := pushURLs(s.Repo().Config, at)
	return urls[len(urls)-1]
}

// Shown returns the place's name in a form that is safe to show. If the name is a URL with a password, Shown
// leaves out the user and the password. For an http or https URL, it leaves out the user even without a password,
// since the user may be a token.
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

// Explain returns remote_failed with hints if err is an error of git's transport to or from the place. Otherwise
// it returns timeline.Explain(err).
func (p Place) Explain(err error) error {
	if other, ok := errors.AsType[*transport.HashError](err); ok {
		return fault.New(fault.UnsupportedFormat, "this repository has %s objects, and %s has %s objects: runs cannot move between them",
			other.Here, p.Shown(), other.There).
			Hint("use a repository with %s objects on both sides; `git init` has the option --object-format", other.Here)
	}
	if !errors.Is(err, transport.ErrRemote) {
		return timeline.Explain(err)
	}
	if transport.IsUnknownFormat(err) {
		return fault.New(fault.UnsupportedFormat, "%s: %s", p.Shown(), transport.Said(err)).Hint("install a newer git; reftables need 2.45")
	}
	out := &fault.Error{Code: fault.RemoteFailed, Msg: p.Shown() + ": " + transport.Said(err), Err: err}
	out = out.Detail("remote", p.Shown())
	if transport.IsNowhere(err) {
		return out.Hint("check the address and your permission to read the repository")
	}
	if advice := transport.Advice(err); advice != "" {
		return out.Hint("%s", advice)
	}
	return out.Hint("run the same command again to continue: nothing is lost")
}
