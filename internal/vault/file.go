package vault

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	lockName = ".lock" // no run's file has this name, because refs.EscapeRun escapes a dot at the start
	fileMode = 0o600
	dirMode  = 0o700
)

// record is a line of a run's file: a secret with its number, or the edits of a text at a place.
type record struct {
	Secret int    `json:"secret,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Value  []byte `json:"value,omitempty"`

	At    *snapshot.Place `json:"at,omitempty"`
	Text  []byte          `json:"text,omitempty"` // a placeKey
	Edits []redact.Edit   `json:"edits,omitempty"`
}

// bookFile collects the records of one change of a run's file.
type bookFile struct{ lines []byte }

// add adds a record.
func (f *bookFile) add(r record) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // a bug: a record has only texts and numbers
	}
	f.lines = append(append(f.lines, line...), '\n')
}

func (b *Book) path() string { return filepath.Join(b.vault.opts.Dir, b.name) }

// lockFiles makes the vault's folder and locks its files. The caller calls unlock.
func lockFiles(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, failed(err)
	}
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(fileMode))
	if err := lock.Lock(); err != nil {
		return nil, failed(err)
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // closing the file releases the lock, too
}

// change calls what with the files locked and this book up to date, and then writes the records that what has added. The
// caller holds b.mu.
func (b *Book) change(what func(*bookFile) error) error {
	unlock, err := lockFiles(b.vault.opts.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.refresh(); err != nil {
		return err
	}
	var file bookFile
	err = what(&file)
	if err == nil {
		err = b.write(file.lines)
	}
	if err != nil {
		b.forget() // the book must not name a secret that its file does not have
		return err
	}
	b.dirty = b.read > 0 // another process may have written a record that this one relies on, and not synced it yet
	return nil
}

// forget empties the book, which the next refresh reads anew. The caller holds b.mu.
func (b *Book) forget() {
	b.read, b.above = 0, nil
	clear(b.numbers)
	clear(b.places)
}

// write appends lines to the run's file, after the last whole line. The caller holds b.mu and the lock of the files.
func (b *Book) write(lines []byte) (err error) {
	if len(lines) == 0 {
		return nil
	}
	file, err := os.OpenFile(b.path(), os.O_WRONLY|os.O_CREATE, fileMode)
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, failed(file.Close())) }()
	if err := file.Truncate(b.read); err != nil { // a process that died may have left a part of a line
		return failed(err)
	}
	if _, err := file.WriteAt(lines, b.read); err != nil {
		return failed(errors.Join(err, file.Truncate(b.read)))
	}
	b.read += int64(len(lines))
	return nil
}

// Sync puts the records of this process on stable storage, if the vault's options ask for that. It is called before the refs
// move to the history that needs the records.
func (b *Book) Sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.dirty || !b.vault.opts.Fsync {
		return nil
	}
	file, err := os.OpenFile(b.path(), os.O_WRONLY, 0)
	if err != nil {
		return failed(err)
	}
	err = errors.Join(file.Sync(), file.Close(), fsx.SyncDir(b.vault.opts.Dir), fsx.SyncDir(filepath.Dir(b.vault.opts.Dir)))
	b.dirty = err != nil
	return failed(err)
}

// refresh reads the records that were written to the run's file since it was last read. The caller holds b.mu.
func (b *Book) refresh() error {
	b.above = nil
	file, err := fsx.OpenShared(b.path(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		b.forget()
		return nil
	}
	if err != nil {
		return failed(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return failed(err)
	}
	if info.Size() < b.read {
		b.forget() // somebody has moved the file away, and there is a new one
	}
	if _, err := file.Seek(b.read, io.SeekStart); err != nil {
		return failed(err)
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what follows the last line feed is not whole
		}
		if err != nil {
			return failed(err)
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fault.New(fault.VaultDamaged, "the vault of run %s is damaged at byte %d: %w", fault.Word(b.run), b.read, err).
				Hint("repair the file smithers/vault/%s in the git directory, or move it away: without it, the run's commands miss its secrets", b.name)
		}
		b.learn(r)
		b.read += int64(len(line))
	}
}

// learn adds a record of the file to b.
func (b *Book) learn(r record) {
	if r.At != nil {
		if len(r.Text) == len(placeKey{}) {
			b.places[placeKey(r.Text)] = r.Edits
		}
		return
	}
	b.numbers[string(r.Value)] = redact.Placeholder{Rule: r.Rule, Number: r.Secret}
	b.vault.found.Add(1)
	b.highest = max(b.highest, r.Secret)
}

// inherited returns the books of the runs from which the run was forked, the parent first. It reads them at the first call
// after a refresh. A book that cannot be read is left out. The caller holds b.mu.
func (b *Book) inherited() []*Book {
	if b.ancestors == nil || b.above != nil {
		return b.above
	}
	books := []*Book{}
	for _, run := range b.ancestors() {
		if run == b.run {
			continue
		}
		// A copy, because two runs must not wait for each other's locks.
		other := b.vault.newBook(run)
		if other.refresh() == nil && other.read > 0 {
			books = append(books, other)
		}
	}
	b.above = books
	return books
}

// failed returns the error of the file system about the vault.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the vault of secrets: %w", err)
}
