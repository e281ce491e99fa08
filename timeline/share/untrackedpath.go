package share

import (
	"cmp"
	"fmt"
	"slices"
)

// An UntrackedPath is a path at which runs have an untracked file.
type UntrackedPath struct {
	Path  string
	Bytes int64 // of the largest
	Runs  []string
}

// ByPath sorts untracked files by their paths.
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

// InRuns is the run that has the path or, of several, how many they are.
func (p UntrackedPath) InRuns() string {
	if len(p.Runs) == 1 {
		return p.Runs[0]
	}
	return fmt.Sprintf("%d runs", len(p.Runs))
}
