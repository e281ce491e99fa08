// Package reftable reads and extends the stacks of tables in which git can store refs (extensions.refStorage = reftable).
//
// A stack is a folder: reftable in the common directory, and worktrees/<name>/reftable for what only one worktree has.
// Its file tables.list names the tables from the oldest to the newest. A table is never changed. A newer table hides
// the values of older tables. The format is in git's Documentation/technical/reftable.
package reftable

import (
	"path/filepath"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
)

// listName is the name of the file that names the tables of a stack.
const listName = "tables.list"

// Stack is a stack of tables. It is safe for concurrent use.
type Stack struct {
	dir  string
	hash objstore.Algorithm

	writing sync.Mutex // held by Append
	mu      sync.Mutex
	view    *View // the newest view; nil before the first Look
}

// Open returns the stack in the folder dir of a repository with the given hash. It reads nothing.
func Open(dir string, hash objstore.Algorithm) *Stack { return &Stack{dir: dir, hash: hash} }

// List returns the path of tables.list. Its lock is this path with the suffix ".lock".
func (s *Stack) List() string { return filepath.Join(s.dir, listName) }

// Look returns the stack as it is now. It reads tables.list and opens only tables that the last view does not have. If
// tables.list is unchanged, Look returns the last view. If a table disappears meanwhile, Look begins again. The error
// wraps ErrAbsent if the folder does not exist, and ErrDamaged or ErrForeign if the stack cannot be read.
func (s *Stack) Look() (*View, error) { return nil, nil }

// View is a stack at one moment. It does not change, and stays readable when other processes have removed its tables.
// It is safe for concurrent use. A View need not be closed: the files of its big tables are closed when no View has them.
type View struct {
	text string // the content of tables.list
}

// Text returns the content of tables.list. Views with the same text have the same refs, because the names of tables are
// random.
func (v *View) Text() string { return v.text }
