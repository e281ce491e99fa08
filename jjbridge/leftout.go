package jjbridge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// leftOuts collects the files that a capture leaves out.
type leftOuts struct {
	all     []snapshot.LeftOut // may have duplicates until sorted
	failed  map[string]bool    // files that git could not read
	filters []failedFilter     // filters that git requires and that failed
}

// add records path as left out because of reason, one of the values of snapshot.LeftOut.Reason. size is in
// bytes, or 0 if it is not recorded.
func (l *leftOuts) add(path, reason string, size int64) {
	l.all = append(l.all, snapshot.LeftOut{Path: path, Reason: reason, Bytes: size})
}

// sorted sorts l.all by path, removes duplicate paths and returns the result. If a path has several reasons, the reason
// that was recorded first stays.
func (l *leftOuts) sorted() []snapshot.LeftOut {
	slices.SortStableFunc(l.all, func(a, b snapshot.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(l.all, func(a, b snapshot.LeftOut) bool { return a.Path == b.Path })
}

// keep removes from p every edit that would remove a file in leftOut, and adds the file's path to p.kept. The capture
// of p.To left out the files in leftOut. The working copy may have had these files then, with unknown content.
func (p *Plan) keep(leftOut []snapshot.LeftOut) {
	if len(leftOut) == 0 {
		return
	}
	p.edits = slices.DeleteFunc(p.edits, func(e edit) bool {
		stays := !e.to.exists() && IsLeftOut(leftOut, e.path)
		if stays {
			p.kept = append(p.kept, e.path)
		}
		return stays
	})
}

// IsLeftOut reports whether leftOut contains path or a folder above path. In leftOut, the path of a folder ends
// with a slash.
func IsLeftOut(leftOut []snapshot.LeftOut, path string) bool {
	return slices.ContainsFunc(leftOut, func(l snapshot.LeftOut) bool {
		return l.Path == path || strings.HasSuffix(l.Path, "/") && strings.HasPrefix(path, l.Path)
	})
}
