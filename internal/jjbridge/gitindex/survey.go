package gitindex

import (
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Survey holds the facts about the user's index that a capture needs and that git status does not print.
type Survey struct {
	Entries   int             // the number of entries; fewer than files in a sparse index
	Modules   bool            // whether an entry is a submodule
	Unwatched []UnwatchedFile // sorted by path
	// Attributes are the tracked .gitattributes files, sorted by path.
	Attributes []File
}

// File is an entry of an index without the state of its file.
type File struct {
	Path string
	Mode objstore.Mode
	ID   objstore.ID
}

// UnwatchedFile is a file at which git status does not look, because the user marked it skip-worktree or
// assume-unchanged.
type UnwatchedFile struct {
	File

	Skipped bool // true for skip-worktree: then a missing file counts as unchanged
}

// SurveyOf returns the survey of data, an index file with ids of the hash, which may be a sparse index. An entry with skip-worktree counts
// as unwatched only if sparseCheckout is false, because git status looks at such files in a sparse checkout. The error
// wraps ErrUnreadable if the index is damaged or split.
func SurveyOf(hash objstore.Algorithm, data []byte, sparseCheckout bool) (Survey, error) {
	var s Survey
	err := parse(hash, data, true, func(count uint32) { s.Entries = int(count) }, func(e *Entry) { s.add(e, sparseCheckout) })
	if err != nil {
		return Survey{}, unreadable(err)
	}
	return s, nil
}

// add records e in s: in Modules if e is a submodule, in Attributes if e is a .gitattributes file, and in
// UnwatchedFile if git status does not look at the file of e. git status does not look if e is marked
// assume-unchanged, or if e is marked skip-worktree and sparseCheckout is false.
func (s *Survey) add(e *Entry, sparseCheckout bool) {
	s.Modules = s.Modules || e.Mode == objstore.ModeCommit
	skipped := e.Skipped() && !sparseCheckout
	attributes := path.Base(e.Path) == ".gitattributes"
	if e.flags&flagAssume == 0 && !skipped && !attributes {
		return
	}
	// The clone of the path does not keep the text of the whole index in memory.
	file := File{Path: strings.Clone(e.Path), Mode: e.Mode, ID: e.ID}
	if attributes {
		s.Attributes = append(s.Attributes, file)
	}
	if e.flags&flagAssume != 0 || skipped {
		s.Unwatched = append(s.Unwatched, UnwatchedFile{File: file, Skipped: skipped})
	}
}
