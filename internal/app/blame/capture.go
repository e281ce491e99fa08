package blame

import (
	"cmp"
	"context"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Reader finds the writers of files. It keeps what it has read of the runs from one file to the next. It is not safe for concurrent use.
type Reader struct {
	s        *timeline.Store
	captures map[pointKey]*capture // the newest capture at each entry that was walked, or nil
	tools    map[string]*callsOfRun
}

// NewReader returns a reader of a store.
func NewReader(s *timeline.Store) *Reader {
	return &Reader{s: s, captures: make(map[pointKey]*capture), tools: make(map[string]*callsOfRun)}
}

// pointKey names a working copy at an entry.
type pointKey struct {
	entry    objstore.ID
	worktree string
}

// capture is a frame with captured files of a working copy.
type capture struct {
	entry    *snapshot.Entry
	worktree string
	vcs      *snapshot.VCS // of the working copy
	base     string        // the commit on which the working copy was; "" if this clone lacks it
	older    *capture      // of the frame before; nil if there is none
	from     *capture      // from whose files a task's own worktree was made; nil if the capture is not its first one
}

// key returns the key of the capture.
func (c *capture) key() pointKey { return pointKey{c.entry.ID, c.worktree} }

// capture returns the newest capture of a working copy at an entry, or nil if there is none. It walks through the parents of forks.
func (r *Reader) capture(ctx context.Context, newest *snapshot.Entry, worktree string) (*capture, error) {
	var first, last *capture // the newest one, and the oldest one so far
	var early []pointKey     // entries that are newer than first
	var id objstore.ID
	var vcs *snapshot.VCS
	var base string
	join := func(older *capture) {
		if last == nil {
			first = older
		} else {
			last.older = older
		}
	}
	for entry, err := range snapshot.Ancestry(r.s.Objects(), newest) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		key := pointKey{entry.ID, worktree}
		if known, ok := r.captures[key]; ok {
			join(known)
			break
		}
		now, err := entry.VCSID()
		if err != nil {
			return nil, err
		}
		if entry.Frame == snapshot.NoFrame {
			now = objstore.ID{}
		} else if now != id {
			if vcs, err = entry.VCSRevision(); err != nil {
				return nil, err
			}
			id, vcs = now, files.WorktreeOf(vcs, worktree)
			base = r.baseOf(vcs)
		}
		if now.IsZero() || vcs == nil || vcs.Tree.IsZero() {
			if worktree != "" && last != nil && entry.Frame != snapshot.NoFrame {
				if last.from, err = r.capture(ctx, entry, ""); err != nil {
					return nil, err
				}
				break
			}
			if last == nil {
				early = append(early, key)
			}
			continue
		}
		c := &capture{entry: entry, worktree: worktree, vcs: vcs, base: base}
		join(c)
		last = c
		r.captures[key] = c
	}
	for _, key := range early {
		r.captures[key] = first
	}
	return first, nil
}

// baseOf returns the commit on which a working copy was, or "" if this clone lacks it.
func (r *Reader) baseOf(v *snapshot.VCS) string {
	base := files.BaseOf(r.s.Objects(), v)
	if base == "" || !r.known(base) {
		return ""
	}
	return base
}

// parents returns the parents of a commit of the repository.
func (r *Reader) parents(commit string) ([]string, error) {
	_, parents, err := jjbridge.ReadCommit(r.s.Objects(), commit)
	return parents, err
}

// known reports whether the repository has a commit.
func (r *Reader) known(commit string) bool {
	_, _, err := jjbridge.ReadCommit(r.s.Objects(), commit)
	return err == nil
}
