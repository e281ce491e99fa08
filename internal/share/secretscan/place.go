package secretscan

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// place adds a finding for each hit to the report, with the first entry of a run that has the object. Without hits, it reads
// nothing.
func (j *scan) place(ctx context.Context, hits []hit) error {
	if len(hits) == 0 {
		return nil
	}
	open := make(map[object][]hit)
	for _, h := range hits {
		open[h.object] = append(open[h.object], h)
	}
	trees := treeReader{objects: j.store.Objects(), trees: make(map[objstore.ID]map[string]objstore.TreeEntry)}
	have := make(map[objstore.ID]bool)
	for _, id := range j.req.Have {
		have[id] = true
	}
	for _, run := range j.req.Runs {
		entries, err := j.entries(ctx, run.Tip, have)
		if err != nil {
			return err
		}
		for _, entry := range entries { // the oldest first
			for o, list := range open {
				in, err := trees.has(entry, o)
				if err != nil {
					return err
				}
				if in {
					j.addHits(list, entry)
					delete(open, o)
				}
			}
		}
	}
	for o, list := range open { // in the user's own commits, or in an entry of another run
		for _, h := range list {
			f := finding(h)
			if h.isMessage {
				f.Commit = o.id
			}
			j.add(f)
		}
	}
	return nil
}

// entries returns the entries of a run that the receiver lacks, the oldest first, with those of the runs that it was forked
// from.
func (j *scan) entries(ctx context.Context, tip objstore.ID, have map[objstore.ID]bool) ([]*snapshot.Entry, error) {
	var out []*snapshot.Entry
	for id := tip; !id.IsZero() && !have[id]; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entry, err := snapshot.ReadEntry(j.store.Objects(), id)
		if err != nil {
			return nil, err
		}
		out = append(out, entry)
		id = entry.Parent
	}
	for i, k := 0, len(out)-1; i < k; i, k = i+1, k-1 {
		out[i], out[k] = out[k], out[i]
	}
	return out, nil
}

// addHits adds a finding for each hit in an entry.
func (j *scan) addHits(list []hit, entry *snapshot.Entry) {
	for _, h := range list {
		f := finding(h)
		f.RunID, f.Commit = entry.Run, entry.ID
		frame := entry.Newest
		if entry.Frame != snapshot.NoFrame {
			frame = entry.Frame
		}
		f.Frame = &frame
		j.add(f)
	}
}

// finding returns the finding of a hit, without its run.
func finding(h hit) Finding {
	place := h.path
	if h.isMessage {
		place = "message"
	}
	return Finding{Place: place, Rule: h.rule, Digest: h.digest, Excerpt: h.excerpt, Object: h.id}
}

// treeReader looks up paths in trees. It reads each tree once.
type treeReader struct {
	objects objstore.Reader
	trees   map[objstore.ID]map[string]objstore.TreeEntry
}

// has reports whether an entry has an object: as its commit, or at the object's path.
func (t *treeReader) has(entry *snapshot.Entry, o object) (bool, error) {
	if o.path == "" {
		return entry.ID == o.id || entry.Tree == o.id, nil
	}
	tree := entry.Tree
	for name := range strings.SplitSeq(o.path, "/") {
		entries, err := t.read(tree)
		if err != nil {
			return false, err
		}
		e, ok := entries[name]
		if !ok {
			return false, nil
		}
		tree = e.ID
	}
	return tree == o.id, nil
}

// read returns the entries of a tree by name. A blob has none.
func (t *treeReader) read(id objstore.ID) (map[string]objstore.TreeEntry, error) {
	if entries, ok := t.trees[id]; ok {
		return entries, nil
	}
	list, err := objstore.ReadForeignTree(t.objects, id)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]objstore.TreeEntry, len(list))
	for _, e := range list {
		entries[e.Name] = e
	}
	t.trees[id] = entries
	return entries, nil
}
