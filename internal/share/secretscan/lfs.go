package secretscan

import (
	"cmp"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/objstore"
)

// LFSPointer is a file of which git has a pointer alone. git-lfs keeps its content, the LFS object, outside of git.
type LFSPointer struct {
	Path string `json:"path"` // in the working copy
	OID  string `json:"oid"`  // the SHA-256 of the LFS object
	Size int64  `json:"size"` // of the LFS object, in bytes

	blob objstore.ID
}

// lfsPointer matches the pointers that git-lfs takes for pointers.
var lfsPointer = lazyregexp.New(`^version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\s*$`)

// pointerIn returns the pointer that a file has as its whole content. ok is false for every other text.
func pointerIn(t text) (p LFSPointer, ok bool) {
	const most = 1024
	if len(t.data) > most || t.isMessage {
		return p, false
	}
	parts := lfsPointer.FindSubmatch(t.data)
	if parts == nil {
		return p, false
	}
	size, err := strconv.ParseInt(string(parts[2]), 10, 64)
	return LFSPointer{cmp.Or(workingPath(t.path), t.path), string(parts[1]), size, t.id}, err == nil
}
