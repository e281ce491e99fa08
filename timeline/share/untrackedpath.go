package share

import (
	"cmp"
	"fmt"
	"slices"
)

// An UntrackedPath is a path at which runs have untracked files.
type UntrackedPath struct {
	Path  string
	Bytes int64 // of the largest file
	Runs  []string
}

// ByPath groups untracked files by path.
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

// InRuns returns the only run that has the path, or the number of runs.
func (p UntrackedPath) InRuns() string {
	if len(p.Runs) == 1 {
		return p.Runs[0]
	}
	return fmt.Sprintf("%d runs", len(p.Runs))
}
