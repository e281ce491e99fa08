package jjbridge

import (
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// refusedPart returns the beginning of path up to its first name that git refuses, with a final slash if that is a folder. It returns
// "" if git takes every name of path. mode is the mode of the file.
func refusedPart(path string, mode objstore.Mode) string {
	if !strings.ContainsAny(path, ".~") {
		return ""
	}
	for start := 0; ; {
		name, _, inner := strings.Cut(path[start:], "/")
		end := start + len(name)
		switch {
		case !inner && refusedName(name, mode):
			return path
		case !inner:
			return ""
		case refusedName(name, objstore.ModeTree):
			return path[:end+1]
		}
		start = end + 1
	}
}

// refusedName reports whether git refuses a file of this name, on this system or on another one: a name that NTFS or HFS+ may take for
// ".git", and a link that they may take for ".gitmodules". git fsck reports a tree with such a name, a host refuses it, and git
// restores nothing of it. The rules are those of is_ntfs_dotgit in git's path.c and is_hfs_dotgit in utf8.c. Short names of
// .gitmodules on NTFS are not among them.
func refusedName(name string, mode objstore.Mode) bool {
	seen := strings.Map(withoutIgnorable, name)
	if takenFor(seen, ".git") || takenFor(name, "git~1") {
		return true
	}
	return mode == objstore.ModeSymlink && takenFor(seen, ".gitmodules")
}

// takenFor reports whether NTFS may open a file of this name as the file like: case does not count, nor do spaces and dots at
// the end, and a stream of the file follows a colon.
func takenFor(name, like string) bool {
	if len(name) < len(like) || !strings.EqualFold(name[:len(like)], like) {
		return false
	}
	rest := strings.TrimLeft(name[len(like):], ". ")
	return rest == "" || rest[0] == ':' || rest[0] == '\\'
}

// withoutIgnorable drops the characters that HFS+ ignores in names, as [strings.Map] expects.
func withoutIgnorable(r rune) rune {
	switch {
	case 0x200c <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x206a <= r && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}
