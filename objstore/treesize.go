package objstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// The bounds of a tree that is walked. Trees share the trees below them, so a few hundred bytes can
// have more paths than fit on any disk; see [TreeMeter]. The largest working copies have a few
// million files, and git reads trees at most 2048 deep.
const (
	MaxTreePaths = 4_000_000 // files, folders and submodules
	MaxPathBytes = 1 << 30   // of all these paths together
	MaxTreeDepth = 4096      // folders inside each other
)

const (
	// maxTreeBytes bounds one tree object: MaxTreePaths names of 40 bytes.
	maxTreeBytes = 256 << 20
	// maxCommitBytes bounds a commit in bytes, whichever program wrote it.
	maxCommitBytes = 64 << 20
)

// ErrTreeSize is wrapped by the errors about trees that exceed the bounds. It is always a
// [*TreeSizeError].
var ErrTreeSize = errors.New("tree is too large")

// TreeSizeError names the tree that exceeds the bounds.
type TreeSizeError struct {
	ID     ID // zero for a working copy that is not a tree yet
	Reason string
}

// Error names the tree and the bound.
func (e *TreeSizeError) Error() string {
	if e.ID.IsZero() {
		return "working copy: " + e.Reason
	}
	return fmt.Sprintf("tree %v: %s", e.ID, e.Reason)
}

// Is makes errors.Is(err, ErrTreeSize) true.
func (e *TreeSizeError) Is(target error) bool { return target == ErrTreeSize }

// TreeSize is the size of a tree whose every path is followed. Paths and Bytes stop growing far
// above their bounds.
type TreeSize struct {
	Paths int64 // files, folders and submodules
	Bytes int64 // of all paths together
	Depth int   // folders inside each other, the tree itself not counted
}

// Check returns a [*TreeSizeError] about the tree id if the size exceeds the bounds.
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

func tooDeep(id ID) error {
	return &TreeSizeError{id, fmt.Sprintf("folders nested more than %d deep", MaxTreeDepth)}
}

// manyPaths is the number at which the counts of a TreeSize stop growing. Two such numbers can be
// added, and one can be multiplied by the length of a name, without overflow.
const manyPaths = 1 << 31

// Add adds an entry of a tree to the size of the tree. below is the size of the tree that the entry
// names, or zero if the entry is not a tree.
func (s *TreeSize) Add(e TreeEntry, below TreeSize) {
	s.Paths = min(s.Paths+1+below.Paths, manyPaths)
	inner := int64(len(e.Name)+1) * below.Paths // the name and a slash, before each path below
	s.Bytes = min(s.Bytes+int64(len(e.Name))+inner+below.Bytes, manyPaths)
	if e.Mode == ModeTree {
		s.Depth = max(s.Depth, 1+below.Depth)
	}
}

// With adds the entries of a tree, without the trees below, to s. So a walk that reads trees inside
// each other counts the entries that it holds in memory. They never exceed the bounds if the
// outermost tree does not.
func (s TreeSize) With(entries []TreeEntry) TreeSize {
	for _, e := range entries {
		s.Paths, s.Bytes = s.Paths+1, s.Bytes+int64(len(e.Name))
	}
	s.Paths, s.Bytes = min(s.Paths, manyPaths), min(s.Bytes, manyPaths)
	return s
}

// TreeMeter measures trees without following every path. It reads each tree once, even if many
// paths lead to it, and caches its size. It must be used by one goroutine at a time.
type TreeMeter struct {
	r     Reader
	sizes map[string]TreeSize // by the ids of the tree and of the trees that it is compared with
	// If lenient, a missing tree counts as empty.
	lenient bool
}

// NewTreeMeter returns a meter of trees that r reads.
func NewTreeMeter(r Reader) *TreeMeter {
	return &TreeMeter{r: r, sizes: make(map[string]TreeSize)}
}

// Added returns the size of those parts of a tree that none of the trees before has at the same
// path. It does not read equal parts. Zero ids, and missing trees among before, count as empty.
// Nested trees that exceed the bounds by themselves are an error; call [TreeSize.Check] to compare
// the result with the bounds.
func (m *TreeMeter) Added(ctx context.Context, tree ID, before ...ID) (TreeSize, error) {
	return m.added(ctx, tree, before, TreeSize{})
}

// CheckChanges returns a [*TreeSizeError] if the difference between two trees exceeds the bounds of
// one tree. A missing tree counts as empty, because the caller finds out when it reads the tree.
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
	above.Depth++
	others, err := m.byName(before)
	if err != nil {
		return TreeSize{}, err
	}
	var size TreeSize
	for _, e := range entries {
		there := others[e.Name]
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

// byName returns the entries of trees by name.
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

// folders returns the ids of those entries that are trees.
func folders(entries []TreeEntry) []ID {
	var ids []ID
	for _, e := range entries {
		if e.Mode == ModeTree && !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// treeKey returns a key for a tree and the trees before it, independent of their order.
func treeKey(tree ID, before []ID) string {
	key := tree.AppendTo(make([]byte, 0, (1+len(before))*maxIDSize))
	for _, id := range slices.SortedFunc(slices.Values(before), ID.Compare) {
		key = id.AppendTo(key)
	}
	return string(key)
}
