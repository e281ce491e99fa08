package vault

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Mode says what happens to the secrets in a text that is about to be stored.
type Mode string

// The modes, as smithers.secrets names them.
const (
	Redact Mode = "redact" // a placeholder takes the secret's place
	Refuse Mode = "refuse" // the text is refused
	Off    Mode = "off"    // the text is stored as it is
)

// Options configure a Vault.
type Options struct {
	Dir   string // the folder of the vault's files; it need not exist
	Fsync bool   // the files are put on stable storage before the history that needs them
	Mode  Mode
	// Finder returns what finds the secrets. It is called with the first text. With an error, no text is stored; the Finder is not
	// nil even then, for texts that people look at.
	Finder func() (*redact.Finder, error)
}

// Vault has the books of a repository's runs. It is safe for concurrent use, also by several processes.
type Vault struct {
	opts Options

	found atomic.Int64 // grows with each secret that a book learns

	mu      sync.Mutex
	books   map[string]*Book
	callers map[string]string // by run, the run that called it
}

// New returns the vault in a folder. It reads and writes no file.
func New(opts Options) *Vault {
	return &Vault{opts: opts, books: make(map[string]*Book), callers: make(map[string]string)}
}

// Book returns the book of the run with the row. It reads and writes no file. ancestors returns the ids of the runs from which
// the run was forked, the parent first; it is called when the book looks for a secret that it does not have itself.
func (v *Vault) Book(row snapshot.Run, ancestors func() []string) *Book {
	b := v.book(row.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.highest = max(b.highest, row.Secrets)
	if row.Parent != nil {
		b.ancestors = ancestors
	}
	if row.Caller != nil && b.caller == "" {
		b.caller, b.again.finder = row.Caller.RunID, nil // its finder may have been made before the family was known
		v.mu.Lock()
		v.callers[row.ID] = b.caller
		v.mu.Unlock()
	}
	return b
}

// book returns the book of a run, which all callers in this process share.
func (v *Vault) book(run string) *Book {
	v.mu.Lock()
	defer v.mu.Unlock()
	b, ok := v.books[run]
	if !ok {
		b = v.newBook(run)
		v.books[run] = b
	}
	return b
}

// newBook returns a book of a run that has read nothing.
func (v *Vault) newBook(run string) *Book {
	name, err := refs.EscapeRun(run)
	if err != nil {
		name = "_" // the empty id; no other id is escaped to _
	}
	return &Book{vault: v, run: run, name: name, numbers: make(map[string]redact.Placeholder), places: make(map[placeKey][]redact.Edit)}
}

// refused is the error about a text with secrets in a repository whose mode is Refuse.
func refused(at, rule string) error {
	return fault.New(fault.SecretsFound, "%s has a secret (%s), and smithers.secrets is %s", at, rule, Refuse).
		Hint("take the secret out and try again").
		Hint("`git config smithers.secrets redact` stores a placeholder in place of each secret").
		Detail("place", at).Detail("rule", rule)
}

// Marks returns a mark for each secret in a text that is stored as it is. Code: secrets_found if the mode is Refuse and text has
// a secret.
func (v *Vault) Marks(place string, text []byte) ([]snapshot.Mark, error) {
	if v.opts.Mode == Off {
		return nil, nil
	}
	finder, err := v.opts.Finder()
	if err != nil {
		return nil, err
	}
	var marks []snapshot.Mark
	for _, f := range finder.Find(text) {
		if v.opts.Mode == Refuse {
			return nil, refused(place, f.Rule)
		}
		marks = append(marks, snapshot.Mark{Digest: f.Digest(text), Rule: redact.RuleName(f.Rule), Place: place})
	}
	return marks, nil
}

// Has reports whether the vault has a file for a run.
func (v *Vault) Has(run string) bool {
	_, err := os.Stat(v.book(run).path())
	return err == nil
}

// Forget removes the secrets of a run for good. The caller has made sure that neither the run nor a fork of it is left.
func (v *Vault) Forget(run string) error {
	b := v.book(run)
	b.mu.Lock()
	defer b.mu.Unlock()
	unlock, err := lockFiles(v.opts.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	b.forget()
	if err := os.Remove(b.path()); !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	return nil
}
