package share

import (
	"cmp"
	"fmt"
	"slices"
)

// UntrackedPath is a path at which one or more runs have an untracked file.
type UntrackedPath struct {
	Path  string
	Bytes int64    // the size of the largest file at the path
	Runs  []string // ids of the runs
}

// ByPath groups files by path. It returns each path once, with its runs and its largest size, sorted by path.
func ByPath(files []UntrackedFile) []UntrackedPath {
	files = slices.SortedStableFunc(slices.Values(files), func(a, b UntrackedFile) int { return cmp.Compare(a.Path, b.Path) })
	var out []UntrackedPath
	for _, file := range files {
		if n := len(out); n == 0 || out[n-1].Path != file.Path {
			out = append(out, UntrackedPath{Path: file.Path})
		}
		path := &out[len(out)-1]
		path.Bytes, path.Runs = max(path.Bytes, file.Bytes), append(path.Runs, file.RunID)
	}
	return out
}

// InRuns returns the id of the only run that has the path, or a text such as "2 runs".
func (p UntrackedPath) InRuns() string {
	if len(p.Runs) == 1 {
		return p.Runs[0]
	}
	return fmt.Sprintf("%d runs", len(p.Runs))
}
