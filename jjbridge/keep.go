package jjbridge

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// keep drops the edits that would remove what was left out of the capture of p.To: it was
// there, or may have been, and nobody knows what was in it.
func (p *Plan) keep(left []snapshot.LeftOut) {
	if len(left) == 0 {
		return
	}
	p.edits = slices.DeleteFunc(p.edits, func(e edit) bool {
		stays := !e.to.exists() && IsLeftOut(left, e.path)
		if stays {
			p.kept = append(p.kept, e.path)
		}
		return stays
	})
}

// IsLeftOut reports whether left names a path, or a folder that it is in.
func IsLeftOut(left []snapshot.LeftOut, path string) bool {
	return slices.ContainsFunc(left, func(l snapshot.LeftOut) bool {
		return l.Path == path || strings.HasSuffix(l.Path, "/") && strings.HasPrefix(path, l.Path)
	})
}
