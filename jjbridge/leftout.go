package jjbridge

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// leftOuts gathers what a capture leaves out.
type leftOuts struct {
	all     []snapshot.LeftOut
	modules []string        // submodules that may have changes in them
	failed  map[string]bool // files that git could not read
	filters []failedFilter  // filters that git requires and that failed
}

func (l *leftOuts) add(path, reason string, size int64) {
	l.all = append(l.all, snapshot.LeftOut{Path: path, Reason: reason, Bytes: size})
}

// sorted is what is left out by path, each once.
func (l *leftOuts) sorted() []snapshot.LeftOut {
	slices.SortStableFunc(l.all, func(a, b snapshot.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(l.all, func(a, b snapshot.LeftOut) bool { return a.Path == b.Path })
}
