// Package reftable reads and extends the stacks of tables in which git can store refs (extensions.refStorage = reftable).
//
// A stack is a folder: reftable in the common directory, and worktrees/<name>/reftable for what only one worktree has.
// Its file tables.list names the tables from the oldest to the newest. A table is never changed. A newer table hides
// the values of older tables. The format is in git's Documentation/technical/reftable.
package reftable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

const (
	// listName is the name of the file that names the tables of a stack.
	listName = "tables.list"
	// tableNames has the characters of a table's name before its suffix, so a name is that of a file in the folder.
	tableNames = "0123456789ABCDEFabcdefx-"
	// maxList is the maximum length of a list in bytes. The lists of git have less than a hundred tables.
	maxList = 1 << 20
	// lookAttempts is the maximum number of times that Look reads the list because a table was missing.
	lookAttempts = 100
)

// Stack is a stack of tables. It is safe for concurrent use.
type Stack struct {
	dir  string
	hash objstore.Algorithm

	writing sync.Mutex // held by Append
	mu      sync.Mutex
	view    *View // the newest view; before the first Look that of no list
}

// Open returns the stack in the folder dir of a repository with the given hash. It reads nothing.
func Open(dir string, hash objstore.Algorithm) *Stack {
	return &Stack{dir: dir, hash: hash, view: &View{text: "\x00"}} // no list has this text
}

// List returns the path of tables.list. Its lock is this path with the suffix ".lock".
func (s *Stack) List() string { return filepath.Join(s.dir, listName) }

// Look returns the stack as it is now. It reads tables.list and opens only tables that the last view does not have. If
// tables.list is unchanged, Look returns the last view. If a table disappears meanwhile, Look begins again. The error
// wraps ErrAbsent if the folder does not exist, and ErrDamaged or ErrForeign if the stack cannot be read.
func (s *Stack) Look() (*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed := ""
	for range lookAttempts {
		text, err := s.readList()
		if err != nil {
			return nil, err
		}
		if text == s.view.text {
			return s.view, nil
		}
		view, err := s.open(text)
		switch {
		case err == nil:
			s.view = view
			return view, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case s.isLocked(): // perhaps git has made the table, and not yet the list
			<-time.After(pause)
		case text == missed: // nobody has changed the list, so the table stays missing
			return nil, s.damaged("a table is missing: %v", err)
		}
		missed = text
	}
	return nil, s.damaged("its tables disappear too often")
}

// readList returns the content of tables.list. A new stack has no such file.
func (s *Stack) readList() (string, error) {
	for size := 1 << 10; size <= maxList; size <<= 5 {
		text := make([]byte, size)
		n, err := fsx.ReadSmall(s.List(), text)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err = os.Stat(s.dir); err != nil {
				err = fmt.Errorf("%w: %w", ErrAbsent, err)
			}
		}
		if n < size || err != nil {
			return string(text[:n]), err
		}
	}
	return "", s.damaged("it is longer than %d bytes", maxList)
}

// open returns the view with the tables of a list. A list without tables in a folder with tables is damaged. It takes tables that are open from the last view.
func (s *Stack) open(text string) (*View, error) {
	names, err := s.parseList(text)
	if tables, _ := filepath.Glob(filepath.Join(fsx.GlobQuote(s.dir), "*.ref")); len(names) == 0 && err == nil && len(tables) > 0 {
		return nil, fmt.Errorf("the list is empty or missing: %w", fs.ErrNotExist)
	}
	view := &View{text: text}
	for _, name := range names {
		var t *table
		at := func(t *table) bool { return filepath.Base(t.path) == name }
		if i := slices.IndexFunc(s.view.tables, at); i >= 0 {
			t = s.view.tables[i]
		} else if t, err = openTable(filepath.Join(s.dir, name), s.hash); err != nil {
			return nil, err
		}
		view.tables = append(view.tables, t)
	}
	return view, err
}

// parseList returns the names of tables in a list. They are names of files in the folder of the stack.
func (s *Stack) parseList(text string) ([]string, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return nil, s.damaged("its last line is cut")
	}
	names := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for _, name := range names {
		if strings.Trim(strings.TrimSuffix(strings.TrimSuffix(name, ".ref"), ".log"), tableNames) != "" {
			return nil, s.damaged("its line %.80q is not the name of a table", name)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) {
		return nil, s.damaged("it has a table twice")
	}
	return names, nil
}

// damaged returns the error for a damaged list.
func (s *Stack) damaged(reason string, args ...any) error {
	return &DamagedError{Path: s.List(), Reason: fmt.Sprintf(reason, args...)}
}

// View is a stack at one moment. It does not change, and stays readable when other processes have removed its tables.
// It is safe for concurrent use. A View need not be closed: the file of a big table is closed when no View has the table.
type View struct {
	text   string   // the content of tables.list
	tables []*table // from the oldest to the newest
}

// Text returns the content of tables.list. Views of a stack with the same text have the same refs, because the names of
// tables are random.
func (v *View) Text() string { return v.text }
