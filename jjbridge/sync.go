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

// indexPair holds the private index of a working copy and the user's index, or jj's list of files. The
// private index has the captured paths: tracked paths that were not left out, and the untracked paths of
// captures.
type indexPair struct {
	now, tracked *gitindex.Index // the private index, and the user's
	trees        gitindex.Trees  // of now
	stored       bool            // the repository has the root tree of now
	remade       bool            // the private index was made anew
	state        gitindex.State
}

// sync returns the private index, merged with the user's index if the user's index has changed since the last
// capture. If the repository lacks objects of the private index, because a capture was not stored, the
// private index begins anew as a copy of the user's. warn gets an error if git cannot read the user's index.
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

// syncJJ returns the private index, made anew from the files that jj tracks at rev and from the present
// private index. If the present index is of another folder, or the repository lacks its tree, syncJJ ignores
// the present index.
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

// remake replaces the private index by a merge of the tracked paths and the entries of before, and writes the
// new index and its state to p. user is the fingerprint of the user's index, which later shows a change.
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

// has reports whether objects can read the object id.
func has(objects objstore.Reader, id objstore.ID) bool {
	_, _, err := objects.Get(id)
	return err == nil
}

// full returns the path in the file system of a file whose path in the working copy is path.
func (w *Workspace) full(path string) string {
	return filepath.Join(w.Root, filepath.FromSlash(path))
}

// added returns, by path, the entries of the private index whose paths the user's index lacks.
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

// trackUsers copies the user's index, with the fingerprint id and the bytes data, to the private folder and
// returns the index. If id is zero, the user has no index, and the result is empty. If only git can parse
// data, git rewrites the copy. If git fails, too, trackUsers calls warn, and the files of HEAD count as
// tracked.
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
	warn(fmt.Errorf("git cannot read its index, so the files of the last commit count as tracked: %w", err))
	if err := os.Remove(p.TrackedPath()); err != nil {
		return nil, err
	}
	return trackHead(ctx, w, p)
}

// trackHead writes an index of HEAD's tree in place of the copy of the user's index, and returns it. Before
// the first commit, trackHead returns an empty index and writes nothing.
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

// worktreesFolder is the folder, below the common directory, with the private folder of each working copy.
const worktreesFolder = "smithers/worktrees"

// lockIndex locks the folder of the working copy's private index and returns the folder. If another process
// holds the lock, lockIndex waits. The caller must unlock the folder.
func (w *Workspace) lockIndex(ctx context.Context) (*gitindex.Folder, error) {
	return gitindex.Lock(ctx, filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), w.key()))
}

// key returns the name of the working copy's private folder: "git" for git's main worktree, otherwise the
// type and the escaped name.
func (w *Workspace) key() string {
	if w.Type == snapshot.VCSGit && w.Name == "" {
		return snapshot.VCSGit
	}
	return w.Type + "-" + escapeKey(w.Name)
}

// RemoveIndexOf removes the private index of the working copy with the given name and the type of w.
func (w *Workspace) RemoveIndexOf(name string) error {
	other := &Workspace{Type: w.Type, Name: name}
	return os.RemoveAll(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(worktreesFolder), other.key()))
}

// escapeKey returns a file name for name. Different names have different file names, even if the file system
// ignores case. If the escaped name has more than 200 bytes, the file name is a hash.
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
