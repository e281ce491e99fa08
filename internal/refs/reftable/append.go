package reftable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
)

// Change moves one ref from Old to New. A zero Old means that the ref must not exist. A zero New deletes the ref.
type Change struct {
	Name     string
	Old, New objstore.ID
}

// Options are the options of Append.
type Options struct {
	FS fsx.FS // makes all writes; nil means the real file system

	// Proof is the path of a file that does not exist, on the file system of the stack. The lock of the stack is made as a
	// hard link to it, so that RemoveDead knows the lock of a dead process. The caller must note the path before Append, and
	// may forget it after Append. If the file system refuses the link, the error wraps ErrNoLinks. If Proof is empty, the lock is a file of its own.
	Proof string
	// Turns is the path of a file in which the processes of this program agree who appends next, if one has to wait; empty means that they
	// do not agree. Then Append makes the file and, while a process waits, a second file with the suffix ".wait".
	Turns string
	// Patience is how long Append waits for its turn and for the lock of another process; 0 means that it does not wait.
	Patience time.Duration

	Sync      bool // put all bytes on stable storage before the refs move
	SyncNames bool // put the names of files on stable storage, too, before Append returns; also that of Proof, before that of the lock

	// Guard, if not nil, is called with the lock held, after all refs have their expected values and before anything is
	// written. view has the values. Its error ends Append.
	Guard func(view *View) error
	// Ready, if not nil, is called with the lock held, after everything is written and before the refs move. Its error ends Append.
	Ready func() error
}

// Append makes all changes or none, and returns the stack with them. Each New must be an object that is already on
// stable storage. No table of the stack may be damaged. The names must be valid names of refs; Append compares only
// names with names. It writes no reflog and runs no hook.
//
// If a ref does not have its Old value, the error is a *MismatchError. An *ObstructedError means that the name of
// another ref is a folder of a new name, or the reverse. A *LockedError means that another process held the lock of the
// stack for longer than Options.Patience. If the disk fails after the refs have moved, Append returns both the stack with the changes
// and the error. After any other error, no ref has moved, and the view is nil.
func (s *Stack) Append(ctx context.Context, changes []Change, opts Options) (*View, error) {
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	if err := cmp.Or(s.refuse(changes), ctx.Err()); err != nil {
		return nil, err
	}
	if opts.FS == nil {
		opts.FS = fsx.OS{}
	}
	s.writing.Lock()
	waiting, cancel := context.WithTimeoutCause(ctx, opts.Patience, &LockedError{Path: opts.Turns})
	defer cancel()
	at := &turn{stack: s, path: opts.Turns}
	defer at.pass()
	file, err := at.take(waiting, opts)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	view, err := s.append(file, changes, opts)
	_ = file.Close() // if nothing was written
	if view == nil {
		err = errors.Join(err, opts.FS.Remove(s.lock()))
	}
	if opts.Proof != "" {
		err = errors.Join(err, opts.FS.Remove(opts.Proof))
	}
	return view, err
}

// refuse returns an error if a table cannot have the changes, which must be sorted.
func (s *Stack) refuse(changes []Change) error {
	for i, c := range changes {
		if len(c.Name) > maxName || i > 0 && changes[i-1].Name == c.Name || !c.New.IsZero() && len(c.New.Bytes()) != s.hash.Size() {
			return fmt.Errorf("no table can have a change of %.80q to %v", c.Name, c.New)
		}
	}
	if len(changes) == 0 || changes[0].Name == "" {
		return errors.New("no changes, or a change without a name")
	}
	return nil
}

// append makes the changes. It holds the lock of the stack, whose file it closes if it writes. If the list has moved, it returns the new view, also
// with an error.
func (s *Stack) append(file fsx.File, changes []Change, opts Options) (*View, error) {
	view, err := s.Look()
	if err != nil {
		return nil, err
	}
	next, err := s.next(view, changes)
	if err == nil {
		err = permits(view, next.view, changes)
	}
	if err == nil && opts.Guard != nil {
		err = opts.Guard(view)
	}
	if err == nil {
		err = s.write(file, next, opts)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.view = next.view
	s.mu.Unlock()
	if opts.SyncNames || opts.Sync && len(next.merged) > 0 { // the list on the disk must not name a table that is removed
		if err := opts.FS.SyncDir(s.dir); err != nil {
			return next.view, err
		}
	}
	for _, left := range next.merged {
		_ = opts.FS.Remove(left) // git refs optimize removes what stays
	}
	return next.view, nil
}

// write writes the new table and the new list, and then replaces the list. After an error, it has removed the table.
func (s *Stack) write(list fsx.File, next successor, opts Options) error {
	table, err := opts.FS.OpenFile(next.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	put := func(file fsx.File, content []byte) error {
		_, err := file.Write(content)
		if err == nil && opts.Sync {
			err = file.Sync()
		}
		return errors.Join(err, file.Close())
	}
	names := opts.Sync && opts.SyncNames
	done := make(chan error, 2)
	go func() { done <- put(table, next.content) }() // file systems combine what is synced at the same time
	go func() {
		if names && opts.Proof != "" { // after a power cut, nobody could remove a lock without its proof
			done <- opts.FS.SyncDir(filepath.Dir(opts.Proof))
			return
		}
		done <- nil
	}()
	err = put(list, []byte(next.view.text))
	if err = errors.Join(err, <-done, <-done); err == nil && names {
		err = opts.FS.SyncDir(s.dir)
	}
	if err == nil && opts.Ready != nil {
		err = opts.Ready()
	}
	if err == nil {
		if err = opts.FS.Rename(s.lock(), s.List()); err != nil {
			if text, readErr := s.readList(); readErr == nil && text == next.view.text {
				err = nil // NFS may report an error for a rename that it has made
			}
		}
	}
	if err != nil {
		err = errors.Join(err, opts.FS.Remove(next.path))
	}
	return err
}

// successor is a stack with changes that are not written yet.
type successor struct {
	view    *View
	path    string   // the path of the new table
	content []byte   // the content of the new table
	merged  []string // the paths of the tables that are not in the view any more
}

// next returns the successor of view with changes.
func (s *Stack) next(view *View, changes []Change) (next successor, err error) {
	last, kept := uint64(0), view.tables
	for _, t := range kept {
		last = max(last, t.last)
	}
	last++
	entries := make([]entry, len(changes))
	for i, c := range changes {
		entries[i] = entry{Record: Record{Name: c.Name, ID: c.New}, value: valueID, index: last}
		if c.New.IsZero() {
			entries[i].value = valueDeleted
		}
	}
	first, content := last, encode(s.hash, entries, last, last)
	if at := view.mergeFrom(len(content)); at < len(kept) {
		added, err := smallTableOf("", content, s.hash)
		if err != nil {
			return next, err
		}
		for _, t := range kept[at:] {
			next.merged = append(next.merged, t.path)
		}
		first, kept = kept[at].first, kept[:at]
		if content, err = union(s.hash, append(slices.Clip(view.tables[at:]), added), at == 0); err != nil {
			return next, err
		}
	}
	next.content = content
	next.path = filepath.Join(s.dir, fmt.Sprintf("0x%012x-0x%012x-%08x.ref", first, last, rand.Uint32()))
	added, err := smallTableOf(next.path, content, s.hash)
	next.view = &View{tables: append(slices.Clip(kept), added)}
	for _, t := range next.view.tables {
		next.view.text += filepath.Base(t.path) + "\n"
	}
	return next, err
}

// maxName is the maximum length of a ref's name in bytes. It is above the maximum path length of any system.
const maxName = 16 << 10

// permits returns an error if a ref in the view old does not have the value that a change expects, or if another ref in the view next is
// in the way of a new ref.
func permits(old, next *View, changes []Change) error {
	for _, c := range changes {
		found, _, err := old.Get(c.Name)
		if err == nil && (found.ID != c.Old || found.Target != "") {
			err = &MismatchError{Name: c.Name, Expected: c.Old, Found: found}
		}
		if err == nil && c.Old.IsZero() && !c.New.IsZero() {
			err = next.Obstructed(c.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Obstructed returns an *ObstructedError if a ref cannot exist together with the ref name, because one name is a folder of the other.
func (v *View) Obstructed(name string) error {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, found, err := v.Get(folder); found || err != nil {
			return cmp.Or(err, error(&ObstructedError{Name: name, Other: folder}))
		}
	}
	for rec, err := range v.Each(name+"/", "") {
		return cmp.Or(err, error(&ObstructedError{Name: name, Other: rec.Name}))
	}
	return nil
}
