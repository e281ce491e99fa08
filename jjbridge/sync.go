package jjbridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// indexPair is the private index and the user's. The private index has every path of the user's
// index, and the paths that captures added.
type indexPair struct {
	now, tracked *gitindex.Index
	trees        gitindex.Trees // of now
	stored       bool           // the repository has the trees and everything below
	remade       bool           // the private index was made anew
	state        gitindex.State
}

// sync brings the private index up to date with the user's. If the repository lacks objects of the
// private index, because a capture was not stored, the private index begins anew as a copy of the
// user's.
func (w *Workspace) sync(ctx context.Context, p *gitindex.Folder, objects objstore.Reader, warn func(error)) (*indexPair, error) {
	s := &indexPair{state: p.ReadState()}
	kept := s.state.Root == w.Root
	user, data, err := gitindex.ReadFingerprint(filepath.Join(w.Repo.GitDir, "index"), func(id gitindex.Fingerprint) bool {
		return !kept || id != s.state.User
	})
	if err != nil {
		return nil, err
	}
	if kept {
		if s.now, err = gitindex.Read(p.IndexPath()); err == nil {
			s.trees = s.now.Trees()
			s.stored = has(objects, s.trees.Root)
		}
		kept = s.stored
	}
	if kept && user == s.state.User {
		if s.tracked, err = p.ReadTracked(user); err == nil {
			return s, nil
		}
	}
	if data == nil && user != (gitindex.Fingerprint{}) {
		if user, data, err = gitindex.ReadFingerprint(filepath.Join(w.Repo.GitDir, "index"), func(gitindex.Fingerprint) bool { return true }); err != nil {
			return nil, err
		}
	}
	if s.tracked, err = trackUsers(ctx, w, p, user, data, warn); err != nil {
		return nil, err
	}
	before := &gitindex.Index{}
	if kept {
		before = s.now
	}
	return s, s.remake(w.Root, p, user, before, objects)
}

// syncJJ brings the private index up to date with the files that jj tracks at rev.
func (w *Workspace) syncJJ(ctx context.Context, p *gitindex.Folder, objects objstore.Reader, rev jjRevision) (*indexPair, error) {
	out, _, err := w.RunJJ(ctx, "file", "list", "--ignore-working-copy", "--revision="+rev.commit, `--template=self.path() ++ "\0"`)
	if err != nil {
		return nil, err
	}
	s := &indexPair{state: p.ReadState(), tracked: &gitindex.Index{}}
	for _, path := range slices.Sorted(slices.Values(splitPaths(out))) {
		s.tracked.Entries = append(s.tracked.Entries, gitindex.Entry{Path: path, Mode: objstore.ModeFile, ID: gitindex.AnyID()})
	}
	before, err := gitindex.Read(p.IndexPath())
	if err != nil || s.state.Root != w.Root || !has(objects, before.Trees().Root) {
		before = &gitindex.Index{}
	}
	return s, s.remake(w.Root, p, gitindex.Fingerprint{Sum: rev.commit}, before, objects)
}

// remake makes the private index anew from the tracked paths and those of before.
func (s *indexPair) remake(root string, p *gitindex.Folder, user gitindex.Fingerprint, before *gitindex.Index, objects objstore.Reader) error {
	s.now, s.remade = gitindex.Merge(root, s.tracked, before), true
	if err := s.now.Write(p.IndexPath()); err != nil {
		return err
	}
	s.state = gitindex.State{Version: gitindex.StateVersion, Root: root, User: user, Altered: s.state.Altered}
	s.trees = s.now.Trees()
	s.stored = has(objects, s.trees.Root)
	return p.WriteState(s.state)
}

// has reports whether an object can be read.
func has(objects objstore.Reader, id objstore.ID) bool {
	_, _, err := objects.Get(id)
	return err == nil
}

// full returns the full path of a file of the working copy.
func (w *Workspace) full(path string) string {
	return filepath.Join(w.Root, filepath.FromSlash(path))
}

// added returns the entries of the private index that the user's does not have, by path.
func (s *indexPair) added() map[string]*gitindex.Entry {
	added := make(map[string]*gitindex.Entry)
	rest := s.tracked.Entries
	for i := range s.now.Entries {
		e := &s.now.Entries[i]
		for len(rest) > 0 && rest[0].Path < e.Path {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].Path != e.Path {
			added[e.Path] = e
		}
	}
	return added
}

// trackUsers copies the user's index to the private folder and returns it. If git cannot read it
// either, the files of HEAD count as tracked.
func trackUsers(ctx context.Context, w *Workspace, p *gitindex.Folder, id gitindex.Fingerprint, data []byte, warn func(error)) (*gitindex.Index, error) {
	if err := p.CopyTracked(id, data); err != nil {
		return nil, err
	}
	if id == (gitindex.Fingerprint{}) {
		return &gitindex.Index{}, nil
	}
	if entries, err := gitindex.Parse(data); err == nil {
		return &gitindex.Index{Entries: entries, Made: id.Time}, nil
	}
	env := []string{"GIT_INDEX_FILE=" + p.TrackedPath()}
	_, err := w.gitWith(ctx, gitRun{args: []string{"update-index", "--force-write-index"}, env: env, settings: readSettings})
	if err == nil {
		return gitindex.Read(p.TrackedPath())
	}
	if ctx.Err() != nil {
		return nil, err
	}
	warn(fmt.Errorf("git's index cannot be read, so the files of the last commit are taken for the tracked ones: %w", err))
	if err := os.Remove(p.TrackedPath()); err != nil {
		return nil, err
	}
	return trackHead(ctx, w, p)
}

// trackHead replaces the copy of the user's index by an index of HEAD's tree.
func trackHead(ctx context.Context, w *Workspace, p *gitindex.Folder) (*gitindex.Index, error) {
	commit, _, err := w.Head(ctx)
	if err != nil || commit == "" {
		return &gitindex.Index{}, err
	}
	_, err = w.gitWith(ctx, gitRun{
		args: []string{"read-tree", commit}, env: []string{"GIT_INDEX_FILE=" + p.TrackedPath()}, settings: readSettings,
	})
	if err != nil {
		return nil, err
	}
	return gitindex.Read(p.TrackedPath())
}

// worktreesFolder is the folder, under the common directory, with a folder for each working copy.
const worktreesFolder = "smithers/worktrees"

// lockIndex locks the private index of the working copy. The caller unlocks it.
func (w *Workspace) lockIndex(ctx context.Context) (*gitindex.Folder, error) {
	return gitindex.Lock(ctx, filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), w.key()))
}

// key returns the name of this working copy's folder: "git" for git's main worktree, else kind and
// name.
func (w *Workspace) key() string {
	if w.Type == snapshot.VCSGit && w.Name == "" {
		return snapshot.VCSGit
	}
	return w.Type + "-" + escapeKey(w.Name)
}

// RemoveIndexOf removes the private index of another working copy of the same kind.
func (w *Workspace) RemoveIndexOf(name string) error {
	other := &Workspace{Type: w.Type, Name: name}
	return os.RemoveAll(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), other.key()))
}

// escapeKey makes a file name of a name. Different names have different file names, even if the
// file system ignores case.
func escapeKey(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() <= 200 {
		return b.String()
	}
	return "%-" + objstore.Hash(objstore.Blob, []byte(name)).String()
}
