package keep

import (
	"cmp"
	"context"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

// Usage is disk usage: packed bytes, and a number of objects.
type Usage struct {
	Bytes   int64 `json:"bytes"`
	Objects int64 `json:"objects"`
}

// RunUsage is the disk usage of a run: all that it reaches outside the user's commits, and the part
// that nothing else needs.
type RunUsage struct {
	RunID string `json:"runId"`
	Total Usage  `json:"total"`
	Alone Usage  `json:"alone"`
}

// DiskUsage is the disk usage of a repository's runs. No slice is nil; each is sorted, the largest first.
type DiskUsage struct {
	Runs        []RunUsage  `json:"runs"`
	Together    Usage       `json:"together"`    // of all runs: shared objects count once
	Collections []NameUsage `json:"collections"` // nodes, outputs/<table>, …, journal, events, frame, workflow
	Worktrees   []NameUsage `json:"worktrees"`   // captured files, by worktree; "" is the main one
	Held        Usage       `json:"held"`        // of pruned runs that are not yet collected
	Refs        int         `json:"refs"`        // under refs/smithers and refs/smithers-remote
	Index       int64       `json:"indexBytes"`  // of the index databases
	Private     int64       `json:"privateBytes"`
}

// NameUsage is the disk usage of a named part.
type NameUsage struct {
	Name string `json:"name"`
	Usage
}

// DiskUsage measures the named runs (ids or unique prefixes), or all runs. Held is what only pruned
// runs need, even if a pruned run is named.
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
	// Measure the runs first, then the held ones.
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
	out.Refs = len(list)
	if out.Index, out.Private, err = k.privateSizes(); err != nil {
		return nil, timeline.Explain(err)
	}
	return out, nil
}

// usage returns the disk usage of live, which come first in a survey, and of the held runs.
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
		case s.owner[at] == ofUser:
		case ofLive[at]:
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
		case s.owner[at] != ofOther:
			out.Held.add(s.sizes[at])
		}
	}
	out.Collections, out.Worktrees = largestFirst(collections), largestFirst(worktrees)
	return out
}

// worktreeOf returns the worktree of a captured file by its path in an entry's tree; "" is the main
// worktree.
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

// collectionOf returns the collection of a path in an entry's tree. Other objects, such as commits
// and run.json, count as the entry's own.
func collectionOf(path string) string {
	parts := strings.Split(path, "/")
	switch {
	case parts[0] == "state" && len(parts) > 2 && parts[1] == "outputs":
		return "outputs/" + unescaped(parts[2])
	case parts[0] == "state" && len(parts) > 1:
		return parts[1]
	case path == "" || parts[0] == "run.json" || parts[0] == "vcs.json":
		return "entry"
	}
	return parts[0]
}

// unescaped returns a name that was escaped for a path.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

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

// privateSizes returns the sizes of the index and of the rest of the store's private folder.
func (k *Keeper) privateSizes() (index, private int64, err error) {
	err = filepath.WalkDir(k.store.Private(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // it vanished, or never existed
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if filepath.Dir(path) == k.store.Private() && strings.HasPrefix(d.Name(), "index") {
			index += info.Size()
		} else {
			private += info.Size()
		}
		return nil
	})
	return index, private, err
}
