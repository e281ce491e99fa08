package jjbridge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// synced is a private index that has every path that the user's index has, and what
// captures added.
type synced struct {
	now, tracked *index
	trees        indexTrees // of now
	stored       bool       // the repository has the trees and all that they name
	remade       bool       // the index is not the one that was there before
	state        indexState
}

// sync brings the private index up to date with the user's. Where the repository does
// not have what the private index names, as after a capture that nobody stored, it
// begins anew as a copy of the user's.
func (w *Workspace) sync(ctx context.Context, p *privateIndex, objects objstore.Reader, warn func(error)) (*synced, error) {
	s := &synced{state: p.readState()}
	kept := s.state.Root == w.Root
	user, data, err := userIndexOf(filepath.Join(w.Repo.GitDir, "index"), func(id userIndex) bool {
		return !kept || id != s.state.User
	})
	if err != nil {
		return nil, err
	}
	if kept {
		if s.now, err = readIndex(p.path()); err == nil {
			s.trees = s.now.trees()
			s.stored = has(objects, s.trees.root)
		}
		kept = s.stored
	}
	if kept && user == s.state.User {
		if s.tracked, err = p.readTracked(user); err == nil {
			return s, nil
		}
	}
	if data == nil && user != (userIndex{}) {
		if user, data, err = userIndexOf(filepath.Join(w.Repo.GitDir, "index"), func(userIndex) bool { return true }); err != nil {
			return nil, err
		}
	}
	if s.tracked, err = p.copyTracked(ctx, w, user, data, warn); err != nil {
		return nil, err
	}
	before := &index{}
	if kept {
		before = s.now
	}
	return s, s.remake(w.Root, p, user, before, objects)
}

// syncJJ brings the private index up to date with what jj tracks at rev.
func (w *Workspace) syncJJ(ctx context.Context, p *privateIndex, objects objstore.Reader, rev jjRevision) (*synced, error) {
	out, _, err := w.RunJJ(ctx, "file", "list", "--ignore-working-copy", "--revision="+rev.commit, `--template=self.path() ++ "\0"`)
	if err != nil {
		return nil, err
	}
	s := &synced{state: p.readState(), tracked: &index{}}
	for _, path := range slices.Sorted(slices.Values(splitPaths(out))) {
		s.tracked.entries = append(s.tracked.entries, indexEntry{path: path, mode: objstore.ModeFile, id: anyID()})
	}
	before, err := readIndex(p.path())
	if err != nil || s.state.Root != w.Root || !has(objects, before.trees().root) {
		before = &index{}
	}
	return s, s.remake(w.Root, p, userIndex{Sum: rev.commit}, before, objects)
}

// remake makes the index anew of the tracked paths and those of before.
func (s *synced) remake(root string, p *privateIndex, user userIndex, before *index, objects objstore.Reader) error {
	s.now, s.remade = mergeIndexes(root, s.tracked, before), true
	if err := s.now.write(p.path()); err != nil {
		return err
	}
	s.state = indexState{Version: indexStateVersion, Root: root, User: user, Altered: s.state.Altered}
	s.trees = s.now.trees()
	s.stored = has(objects, s.trees.root)
	return p.writeState(s.state)
}

// readTracked reads the copy of the user's index.
func (p *privateIndex) readTracked(user userIndex) (*index, error) {
	x, err := readIndex(p.tracked())
	if errors.Is(err, fs.ErrNotExist) && user == (userIndex{}) {
		return &index{}, nil
	}
	return x, err
}

// has reports whether an object can be read.
func has(objects objstore.Reader, id objstore.ID) bool {
	_, _, err := objects.Get(id)
	return err == nil
}

// mergeIndexes returns an index with the paths of tracked, and those of before that can stand beside
// them. Where both have a path, what was looked at later counts.
func mergeIndexes(root string, tracked, before *index) *index {
	merged := &index{entries: make([]indexEntry, 0, len(tracked.entries))}
	add := func(e indexEntry, from *index) {
		settle(root, &e, from.made)
		merged.entries = append(merged.entries, e)
	}
	rest := before.entries
	for i, e := range tracked.entries {
		if i > 0 && tracked.entries[i-1].path == e.path {
			continue // another stage of a conflict
		}
		for len(rest) > 0 && rest[0].path < e.path {
			if tracked.admits(rest[0].path) {
				add(rest[0], before)
			}
			rest = rest[1:]
		}
		e = plainEntry(root, e)
		if len(rest) > 0 && rest[0].path == e.path {
			if old := rest[0]; e.more == 0 && old.more == 0 && old.mtime().After(e.mtime()) {
				add(old, before)
				rest = rest[1:]
				continue
			}
			rest = rest[1:]
		}
		add(e, tracked)
	}
	for _, e := range rest {
		if tracked.admits(e.path) {
			add(e, before)
		}
	}
	return merged
}

// plainEntry returns an entry of the user's index without what makes git look away from the file:
// stages, intents, and skip-worktree where there is a file nevertheless.
func plainEntry(root string, e indexEntry) indexEntry {
	if e.stage() != 0 || e.more&flagIntent != 0 {
		e.forget()
	}
	e.flags = 0
	if e.more&flagSkip != 0 {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(e.path))); err != nil {
			e.more = flagSkip
			return e
		}
	}
	e.more = 0
	if e.id.IsZero() {
		e.id = anyID()
	}
	return e
}

// settle makes sure that an entry which goes into a newer index is still looked at twice
// where git would have done so in the one that it comes from: a file that was changed
// in the second in which the index was written may have been changed again. git need
// not compare fractions of seconds, but this does.
func settle(root string, e *indexEntry, made time.Time) {
	if e.more != 0 || e.mode == objstore.ModeCommit || e.mtime().Unix() < made.Unix() || made.IsZero() {
		return
	}
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(e.path)))
	exact := err == nil && e.word(statNano) != 0 && info.ModTime().Equal(e.mtime()) &&
		uint32(info.Size()) == e.size() && e.mtime().Before(made)
	if !exact {
		e.forget()
	}
}

// admits reports whether a path that x does not have can stand beside its paths: none of
// them is a folder of it, and it is no folder of theirs.
func (x *index) admits(path string) bool {
	i, _ := x.find(path + "/")
	if i < len(x.entries) && strings.HasPrefix(x.entries[i].path, path+"/") {
		return false
	}
	for at := len(path); ; {
		if at = strings.LastIndexByte(path[:at], '/'); at < 0 {
			return true
		}
		if _, found := x.find(path[:at]); found {
			return false
		}
	}
}

// without is x without the paths in gone, and with entries that replace those of their path.
func (x *index) without(gone map[string]bool, put []indexEntry) *index {
	kept := make([]indexEntry, 0, len(x.entries)+len(put))
	for _, e := range x.entries {
		if !gone[e.path] && !slices.ContainsFunc(put, func(p indexEntry) bool { return p.path == e.path }) {
			kept = append(kept, e)
		}
	}
	kept = append(kept, put...)
	slices.SortFunc(kept, func(a, b indexEntry) int { return compareEntries(&a, &b) })
	return &index{entries: kept, made: x.made}
}

// full is where a file of the working copy is.
func (w *Workspace) full(path string) string {
	return filepath.Join(w.Root, filepath.FromSlash(path))
}
