package objstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// The limits for a tree and everything below it. Trees can share the trees below them, so a few hundred
// bytes can have more paths than fit on any disk; see [TreeMeter]. The largest working copies have a
// few million files. From version 2.43 on, git reads trees at most 2048 levels deep unless core.maxTreeDepth says otherwise, and in
// a frame the working copy's tree is one level deeper: git could not pack a repository with a frame that exceeds this.
const (
	MaxTreePaths = 4_000_000 // files, folders and submodules
	MaxPathBytes = 1 << 30   // bytes of all these paths together
	MaxTreeDepth = 2000      // levels of folders inside each other
)

const (
	// maxTreeBytes is the size limit in bytes for one tree object: MaxTreePaths names of 40 bytes.
	maxTreeBytes = 256 << 20
	// maxCommitBytes is the size limit in bytes for one commit.
	maxCommitBytes = 64 << 20
)

// ErrTreeSize is wrapped by the errors about trees that exceed the limits. Each of them is a
// [*TreeSizeError].
var ErrTreeSize = errors.New("tree is too large")

// TreeSizeError is the error about a tree that exceeds a limit.
type TreeSizeError struct {
	ID     ID     // zero for a working copy that is not a tree yet
	Reason string // the limit, for example "folders nested more than 2000 levels deep"
}

// Error returns a text that names the tree, or the working copy, and the limit.
func (e *TreeSizeError) Error() string {
	if e.ID.IsZero() {
		return "working copy: " + e.Reason
	}
	return fmt.Sprintf("tree %v: %s", e.ID, e.Reason)
}

// Is reports whether target is [ErrTreeSize], for [errors.Is].
func (e *TreeSizeError) Is(target error) bool { return target == ErrTreeSize }

// TreeSize is the size of a tree, counted over every path below it. Paths and Bytes stop growing
// far above their limits, so they do not overflow.
type TreeSize struct {
	Paths int64 // files, folders and submodules
	Bytes int64 // bytes of all paths together
	Depth int   // levels of folders below the tree
}

// Check returns nil if s is within the limits, and otherwise a [*TreeSizeError]. The error names id, the id of
// the tree; a zero id means the working copy.
func (s TreeSize) Check(id ID) error {
	switch {
	case s.Depth > MaxTreeDepth:
		return tooDeep(id)
	case s.Paths > MaxTreePaths:
		return &TreeSizeError{id, fmt.Sprintf("more than %d files and folders", MaxTreePaths)}
	case s.Bytes > MaxPathBytes:
		return &TreeSizeError{id, fmt.Sprintf("paths of more than %d bytes together", MaxPathBytes)}
	}
	return nil
}

// tooDeep returns the [*TreeSizeError] about a tree whose folders exceed MaxTreeDepth. id is the id
// of the tree.
func tooDeep(id ID) error {
	return &TreeSizeError{id, fmt.Sprintf("folders nested more than %d levels deep", MaxTreeDepth)}
}

// manyPaths is the number at which the counts of a TreeSize stop growing. The sum of two such counts, and the
// product of such a count and the length of a name, do not overflow.
const manyPaths = 1 << 31

// Add adds one entry of a tree to s, the size of the tree so far. e is the entry. below is the size
// of the tree that e names, or zero if e is not a tree. Paths and Bytes stop growing at manyPaths.
func (s *TreeSize) Add(e TreeEntry, below TreeSize) {
	s.Paths = min(s.Paths+1+below.Paths, manyPaths)
	inner := int64(len(e.Name)+1) * below.Paths // each path below begins with the name and a slash
	s.Bytes = min(s.Bytes+int64(len(e.Name))+inner+below.Bytes, manyPaths)
	if e.Mode == ModeTree {
		s.Depth = max(s.Depth, 1+below.Depth)
	}
}

// With returns s plus one path for each of the entries, and plus the bytes of the entries' names. It does not
// count the trees below the entries. Paths and Bytes stop growing at manyPaths.
//
// A walk that reads nested trees uses With to measure the entries that it holds in memory. This measure never
// exceeds the limits if the outermost tree does not.
func (s TreeSize) With(entries []TreeEntry) TreeSize {
	for _, e := range entries {
		s.Paths, s.Bytes = s.Paths+1, s.Bytes+int64(len(e.Name))
	}
	s.Paths, s.Bytes = min(s.Paths, manyPaths), min(s.Bytes, manyPaths)
	return s
}

// TreeMeter measures trees without following every path. It reads each tree once, even if many
// paths lead to the tree, and caches the size. It must be used by one goroutine at a time.
type TreeMeter struct {
	r     Reader
	sizes map[string]TreeSize // sizes that were measured already, by treeKey
	// lenient makes a missing tree count as empty. Otherwise a missing tree is an error.
	lenient bool
}

// NewTreeMeter returns a TreeMeter that reads trees with r.
func NewTreeMeter(r Reader) *TreeMeter {
	return &TreeMeter{r: r, sizes: make(map[string]TreeSize)}
}

// Added returns the size of the changed entries of a tree and of all trees below it. tree is the id of the
// tree, and before has the ids of the trees to compare it with. An entry is unchanged if any tree of before has
// an equal entry at the same path. Added does not read unchanged trees.
//
// A zero id means an empty tree. A missing tree of before counts as empty. Added does not compare the result
// with the limits; see [TreeSize.Check]. It returns a [*TreeSizeError] only if the entries of nested trees that
// Added holds in memory exceed the limits.
func (m *TreeMeter) Added(ctx context.Context, tree ID, before ...ID) (TreeSize, error) {
	return m.added(ctx, tree, before, TreeSize{})
}

// CheckChanges compares the trees with the ids from and to. It returns a [*TreeSizeError] if the paths that
// only the tree to has exceed the limits of one tree, or if the paths that only the tree from has exceed these
// limits. A missing tree counts as empty, because the caller gets an error when it reads the missing tree
// itself.
func CheckChanges(ctx context.Context, r Reader, from, to ID) error {
	m := NewTreeMeter(r)
	m.lenient = true
	added, err := m.Added(ctx, to, from)
	if err == nil {
		err = added.Check(to)
	}
	if err != nil {
		return err
	}
	gone, err := m.Added(ctx, from, to)
	if err == nil {
		err = gone.Check(from)
	}
	return err
}

// added returns the results of [TreeMeter.Added] for the trees tree and before. above measures the trees that
// contain tree and whose entries the walk holds in memory: Paths and Bytes count these entries, and Depth is
// the number of these trees. added keeps its result in m.sizes.
func (m *TreeMeter) added(ctx context.Context, tree ID, before []ID, above TreeSize) (TreeSize, error) {
	if tree.IsZero() || slices.Contains(before, tree) {
		return TreeSize{}, nil
	}
	key := treeKey(tree, before)
	if size, ok := m.sizes[key]; ok {
		return size, nil
	}
	if err := stopped(ctx, "measure a tree"); err != nil {
		return TreeSize{}, err
	}
	entries, err := ReadForeignTree(m.r, tree)
	if m.lenient && errors.Is(err, ErrNotFound) {
		err = nil
	}
	if err != nil {
		return TreeSize{}, err
	}
	above = above.With(entries)
	if err := above.Check(tree); err != nil {
		return TreeSize{}, err
	}
	above.Depth++ // for the trees below
	others, err := m.byName(before)
	if err != nil {
		return TreeSize{}, err
	}
	var size TreeSize
	for _, e := range entries {
		there := others[e.Name] // the entries at the same path
		if slices.ContainsFunc(there, func(o TreeEntry) bool { return o.ID == e.ID && o.Mode == e.Mode }) {
			continue
		}
		var below TreeSize
		if e.Mode == ModeTree {
			if below, err = m.added(ctx, e.ID, folders(there), above); err != nil {
				return TreeSize{}, err
			}
		}
		size.Add(e, below)
	}
	m.sizes[key] = size
	return size, nil
}

// byName returns the entries of all trees with the given ids, grouped by the name of the entry. A zero id means
// an empty tree. A missing tree counts as empty.
func (m *TreeMeter) byName(trees []ID) (map[string][]TreeEntry, error) {
	var out map[string][]TreeEntry
	for _, tree := range trees {
		if tree.IsZero() {
			continue
		}
		entries, err := ReadForeignTree(m.r, tree)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if out == nil {
			out = make(map[string][]TreeEntry, len(entries))
		}
		for _, e := range entries {
			out[e.Name] = append(out[e.Name], e)
		}
	}
	return out, nil
}

// folders returns the ids of the entries that are trees, each id once.
func folders(entries []TreeEntry) []ID {
	var ids []ID
	for _, e := range entries {
		if e.Mode == ModeTree && !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// treeKey returns the key of m.sizes for a tree that is compared with other trees. tree is the id
// of the tree, and before has the ids of the other trees. The order of before does not matter.
func treeKey(tree ID, before []ID) string {
	key := tree.AppendTo(make([]byte, 0, (1+len(before))*maxIDSize))
	for _, id := range slices.SortedFunc(slices.Values(before), ID.Compare) {
		key = id.AppendTo(key)
	}
	return string(key)
}
