package gitindex

import (
	"path"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Survey is what a capture has to know about the user's index besides what git status prints.
type Survey struct {
	Entries   int  // how many entries there are; a sparse index has fewer than files
	Modules   bool // whether some are submodules
	Unwatched []Unwatched
	// Attributes are the tracked .gitattributes files, sorted by path.
	Attributes []File
}

// File is a path of an index.
type File struct {
	Path string
	Mode objstore.Mode
	ID   objstore.ID
}

// Unwatched is a file at which git status does not look, because the user told git so.
type Unwatched struct {
	File

	Skipped bool // skip-worktree: without a file, the entry stays; else assume-unchanged
}

// SurveyOf reads an index file. In a sparse checkout git itself looks for the files of entries with
// skip-worktree, so they count as watched. A sparse index can be read; for a split one, or a damaged
// one, the error wraps ErrUnreadable.
func SurveyOf(data []byte, sparseCheckout bool) (Survey, error) {
	var s Survey
	err := parse(data, true, func(count uint32) { s.Entries = int(count) }, func(e *Entry) { s.add(e, sparseCheckout) })
	if err != nil {
		return Survey{}, unreadable(err)
	}
	return s, nil
}

func (s *Survey) add(e *Entry, sparseCheckout bool) {
	s.Modules = s.Modules || e.Mode == objstore.ModeCommit
	skipped := e.Skipped() && !sparseCheckout
	attributes := path.Base(e.Path) == ".gitattributes"
	if e.flags&flagAssume == 0 && !skipped && !attributes {
		return
	}
	file := File{Path: strings.Clone(e.Path), Mode: e.Mode, ID: e.ID}
	if attributes {
		s.Attributes = append(s.Attributes, file)
	}
	if e.flags&flagAssume != 0 || skipped {
		s.Unwatched = append(s.Unwatched, Unwatched{File: file, Skipped: skipped})
	}
}
