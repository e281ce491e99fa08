package prune

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/snapshot/rendered"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Usage is the disk usage of a set of objects: their packed size in bytes, and their number.
type Usage struct {
	Bytes   int64 `json:"bytes"`
	Objects int64 `json:"objects"`
}

// RunUsage is the disk usage of a run. Total counts all objects that the run reaches and the user's refs, reflogs and
// indexes do not need. Alone counts the objects of Total that no other run needs.
type RunUsage struct {
	RunID string `json:"runId"`
	Total Usage  `json:"total"`
	Alone Usage  `json:"alone"`
}

// DiskUsage is the disk usage of the runs of a repository. No slice is nil. Each slice is sorted by size, the largest
// first. Private is the size in bytes of the files in the store's private folder, without the index databases.
type DiskUsage struct {
	Runs        []RunUsage   `json:"runs"`
	Together    Usage        `json:"together"`    // of all runs: shared objects count once
	Collections []NameUsage  `json:"collections"` // nodes, outputs/<table>, …, journal, events, frame, workflow
	Worktrees   []NameUsage  `json:"worktrees"`   // captured files, by worktree; "" is the main worktree
	Frames      []FrameUsage `json:"frames"`      // the blobs of rendered trees, by encoding
	Held        Usage        `json:"held"`        // of pruned runs that are not yet collected
	Refs        int          `json:"refs"`        // under refs/smithers and refs/smithers-remote
	Index       int64        `json:"indexBytes"`  // of the index databases
	Private     int64        `json:"privateBytes"`
}

// FrameUsage is the disk usage of the blobs of rendered trees with one encoding. Distance is the mean, and Farthest the largest, number of
// blobs to read before one of them to make its tree.
type FrameUsage struct {
	Encoding string `json:"encoding"` // full, keyframe or delta
	Usage
	Distance float64 `json:"distance"`
	Farthest int     `json:"farthest"`
}

// NameUsage is the disk usage of a collection or of a worktree. Name is the name of the collection or
// worktree.
type NameUsage struct {
	Name string `json:"name"`
	Usage
}

// DiskUsage measures the given runs (ids or unique prefixes), or all runs if no run is given. The field Held of the
// result always covers all pruned runs. In a partial clone, missing
// objects do not count. The error code is run_not_found if a given run does not exist.
func (k *Keeper) DiskUsage(ctx context.Context, runs ...string) (*DiskUsage, error) {
	wanted := make(map[string]bool)
	for _, run := range runs {
		id, err := k.store.ResolveRun(ctx, run)
		if err != nil {
			return nil, err
		}
		component, err := refs.EscapeRun(id)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		wanted[component] = true
	}
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all, others := k.holdings(list)
	// The held runs follow the live runs, so that the index of a live run is the same in both slices.
	measured := byID(all, func(h *runRefs) bool {
		return !h.tip.IsZero() && (len(wanted) == 0 || wanted[h.component])
	})
	live := len(measured)
	measured = append(measured, byID(all, func(h *runRefs) bool { return h.tip.IsZero() && !h.held.IsZero() })...)
	for _, h := range all {
		if !slices.Contains(measured, h) {
			others = append(others, h.refs...)
		}
	}
	var options []string
	if k.git.repo.Config.IsPartial() {
		options = append(options, evenMissing)
	}
	s, err := k.survey(ctx, measured, others, options...)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := s.usage(measured[:live])
	out.Frames = s.frames(k.store.Objects(), live)
	out.Refs = len(list)
	sizes := MeasureFiles(k.store)
	out.Index, out.Private = sizes.Index, sizes.Private
	return out, nil
}

// usage returns the disk usage of the surveyed runs. live has the surveyed runs that are not pruned: the first runs of
// s, in the same order. The other runs of s are held. usage does not set Refs, Index and Private.
func (s *survey) usage(live []*runRefs) *DiskUsage {
	out := &DiskUsage{Runs: make([]RunUsage, len(live))}
	ofLive := make([]bool, len(s.ids))
	for i, h := range live {
		out.Runs[i].RunID = h.id
		out.Runs[i].Total, out.Runs[i].Alone = s.run(i)
		for _, at := range s.reach[i] {
			ofLive[at] = true
		}
	}
	slices.SortStableFunc(out.Runs, func(a, b RunUsage) int { return cmp.Compare(b.Total.Bytes, a.Total.Bytes) })
	collections, worktrees := make(map[string]Usage), make(map[string]Usage)
	for at := range s.ids {
		switch {
		case s.owner[at] == ofUser: // the user's commits need the object, so it does not count
		case ofLive[at]: // a live run needs the object
			out.Together.add(s.sizes[at])
			into, name := collections, ""
			if worktree, ok := worktreeOf(s.names[at]); ok {
				into, name = worktrees, worktree
			} else {
				name = collectionOf(s.names[at])
			}
			usage := into[name]
			usage.add(s.sizes[at])
			into[name] = usage
		case s.owner[at] != ofOther: // only held runs need the object
			out.Held.add(s.sizes[at])
		}
	}
	out.Collections, out.Worktrees = largestFirst(collections), largestFirst(worktrees)
	return out
}

// frames returns the disk usage of the blobs of rendered trees that the first live runs of s reach, sorted by size. A blob that is missing or
// damaged does not count.
func (s *survey) frames(r objstore.Reader, live int) []FrameUsage {
	byEncoding := make(map[string]*FrameUsage)
	seen := make(map[int32]bool)
	for _, reach := range s.reach[:live] {
		for _, at := range reach {
			if seen[at] || s.owner[at] == ofUser || s.names[at] != frameBlobName {
				continue
			}
			seen[at] = true
			stored, err := rendered.Describe(r, s.ids[at])
			if err != nil {
				continue
			}
			one := byEncoding[stored.Encoding]
			if one == nil {
				one = &FrameUsage{Encoding: stored.Encoding}
				byEncoding[stored.Encoding] = one
			}
			one.add(s.sizes[at])
			one.Distance += (float64(stored.Deltas) - one.Distance) / float64(one.Objects)
			one.Farthest = max(one.Farthest, stored.Deltas)
		}
	}
	out := make([]FrameUsage, 0, len(byEncoding))
	for _, one := range byEncoding {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b FrameUsage) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Encoding, b.Encoding))
	})
	return out
}

// frameBlobName is the path of the rendered tree in the tree of an entry.
const frameBlobName = "frame"

// worktreeOf returns the name of the worktree whose captured files include path, a path in an entry's tree.
// The main worktree has the name "". ok is false if path is not a captured file.
func worktreeOf(path string) (name string, ok bool) {
	folder, rest, _ := strings.Cut(path, "/")
	switch folder {
	case "worktree":
		return "", true
	case "worktrees":
		name, _, _ = strings.Cut(rest, "/")
		return unescaped(name), true
	}
	return "", false
}

// collectionOf returns the collection of path, a path in an entry's tree. For the folder of an output table,
// collectionOf returns outputs/<table>. For run.json, vcs.json and an object without a path, such as a commit,
// collectionOf returns "entry". For any other path, it returns the first element of the path.
func collectionOf(path string) string {
	first, _, _ := strings.Cut(path, "/")
	if table, ok := strings.CutPrefix(first, "outputs-"); ok {
		return snapshot.OutputCollection(unescaped(table))
	}
	if first == "" || first == "run.json" || first == "vcs.json" {
		return "entry"
	}
	return first
}

// unescaped returns name without its percent-encoding, or name itself if its encoding is invalid.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// largestFirst returns usages as a slice, sorted by size, the largest first. Equal sizes are sorted by name.
func largestFirst(usages map[string]Usage) []NameUsage {
	out := make([]NameUsage, 0, len(usages))
	for name, usage := range usages {
		out = append(out, NameUsage{name, usage})
	}
	slices.SortFunc(out, func(a, b NameUsage) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	return out
}
