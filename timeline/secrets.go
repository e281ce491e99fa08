package timeline

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// vaultFolder is the folder in the store's private folder that has the vault's files.
const vaultFolder = "vault"

// Masked stands for a secret in a text for people.
const Masked = "•••"

// maxAncestors is the number of runs that are looked through for the secrets of a fork.
const maxAncestors = 1000

// newVault returns the vault of a repository.
func newVault(repo gitexec.Repo, set Settings, finder func() (*redact.Finder, error)) *vault.Vault {
	return vault.New(vault.Options{
		Dir:    vaultDir(repo),
		Fsync:  set.Fsync,
		Mode:   set.Secrets,
		Finder: finder,
	})
}

// vaultDir returns the folder of the vault's files.
func vaultDir(repo gitexec.Repo) string {
	return filepath.Join(repo.CommonDir, PrivateDir, vaultFolder)
}

// SecretFinder returns the Finder for texts and files of the store's repository. The first call reads the user's files with rules
// and secrets; all calls return the same result. If a file cannot be read, the error is invalid_secrets, the Finder lacks the rules and
// secrets of the file, and nothing may be stored.
func SecretFinder(s *Store) (*redact.Finder, error) { return s.finder() }

// MaskSecrets returns a text for people, such as a path, with each secret in it masked.
func MaskSecrets(f *redact.Finder, text string) string {
	found := f.Find([]byte(text))
	if len(found) == 0 {
		return text
	}
	var out strings.Builder
	from := 0
	for _, secret := range found {
		out.WriteString(text[from:max(from, secret.Start)] + Masked)
		from = max(from, secret.End)
	}
	return strings.ToValidUTF8(out.String()+text[from:], "\ufffd")
}

// maskNames returns v with the secrets masked in the name of the branch and in the paths of files that the capture left out.
func (s *Store) maskNames(v snapshot.VCS) (snapshot.VCS, error) {
	if s.settings.Secrets == vault.Off || len(v.LeftOut)+len(v.Worktrees)+len(v.Branch) == 0 {
		return v, nil
	}
	finder, err := s.finder()
	if err != nil {
		return v, err
	}
	v.Branch = MaskSecrets(finder, v.Branch)
	v.LeftOut, v.Worktrees = slices.Clone(v.LeftOut), slices.Clone(v.Worktrees)
	for i := range v.LeftOut {
		v.LeftOut[i].Path = MaskSecrets(finder, v.LeftOut[i].Path)
	}
	slices.SortStableFunc(v.LeftOut, func(a, b snapshot.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	v.LeftOut = slices.CompactFunc(v.LeftOut, func(a, b snapshot.LeftOut) bool { return a.Path == b.Path })
	for i := range v.Worktrees {
		if v.Worktrees[i].VCS, err = s.maskNames(v.Worktrees[i].VCS); err != nil {
			return v, err
		}
	}
	return v, nil
}

// Secrets returns the book of the run with the row: the secrets that this clone has taken out of the run's history. It
// reads and writes no file.
func (s *Store) Secrets(row snapshot.Run) *vault.Book {
	return s.vault.Book(row, func() []string { return ancestors(s.objects, row) })
}

// ForgetSecrets removes the secrets of runs that are gone for good, and of the runs from which they were forked, if none of the
// runs that are left needs them. gone and left have the tips of the runs. If the tip of a run that is left cannot be read,
// ForgetSecrets removes nothing.
func ForgetSecrets(s *Store, gone, left []objstore.ID) error {
	going := make(map[string]bool)
	for _, tip := range gone {
		if runs, err := lineage(s.objects, tip); err == nil {
			for _, run := range runs {
				going[run] = s.vault.Has(run)
			}
		}
	}
	maps.DeleteFunc(going, func(_ string, has bool) bool { return !has })
	if len(going) == 0 {
		return nil
	}
	for _, tip := range left {
		runs, err := lineage(s.objects, tip)
		if err != nil {
			return nil //nolint:nilerr // the run may need any secret
		}
		for _, run := range runs {
			delete(going, run)
		}
	}
	for run := range going {
		if err := s.vault.Forget(run); err != nil {
			return Explain(err)
		}
	}
	return nil
}

// lineage returns the ids of the run with the given tip and of the runs from which it was forked.
func lineage(r objstore.Reader, tip objstore.ID) ([]string, error) {
	entry, err := snapshot.ReadEntry(r, tip)
	if err != nil {
		return nil, err
	}
	row, err := entry.RunRow()
	if err != nil {
		return nil, err
	}
	return append([]string{row.ID}, ancestors(r, row)...), nil
}

// ancestors returns the ids of the runs from which the run with the row was forked, the parent first. It ends at a run
// that cannot be read.
func ancestors(r objstore.Reader, row snapshot.Run) []string {
	var runs []string
	for p := row.Parent; p != nil && len(runs) < maxAncestors; {
		runs = append(runs, p.RunID)
		entry, err := snapshot.ReadEntry(r, p.Commit)
		if err != nil {
			break
		}
		parent, err := entry.RunRow()
		if err != nil {
			break
		}
		if parent.ID != p.RunID { // the fork begins with a frame that its parent has from a run before
			runs = append(runs, parent.ID)
		}
		p = parent.Parent
	}
	return runs
}

// Reveal returns the text for which the run's history has text at a place: with the secrets that this clone has taken out there.
// Code: secret_missing if this clone does not have one of them.
func (h *Head) Reveal(at snapshot.Place, text []byte) ([]byte, error) {
	whole, err := h.store.Secrets(h.row).Reveal(at, text)
	return whole, Explain(err)
}

// Stored returns the change as Append would store it: without its secrets, and with the key that then follows from its value.
func (h *Head) Stored(c snapshot.Change) (snapshot.Change, error) {
	out, err := snapshot.StoredChange(h.store.Secrets(h.row), h.store.settings.Limits, c)
	return out, Explain(err)
}

// changedInput returns the run's input at an entry with its secrets, changed by the members of override; see WholeInput.
func changedInput(s *Store, entry *snapshot.Entry, override json.RawMessage) (json.RawMessage, error) {
	state, err := entry.State()
	if err != nil {
		return nil, Explain(err)
	}
	input, err := state.Input()
	if err != nil {
		return nil, Explain(err)
	}
	row, err := entry.RunRow()
	if err != nil {
		return nil, Explain(err)
	}
	return WholeInput(s.Secrets(row).Reveal, input, override)
}

// credentials returns the passwords in the URLs of remotes. Where a URL has a user alone, the user is the secret: hosts take
// tokens there.
func credentials(config gitexec.Config) []redact.Value {
	var values []redact.Value
	for key, urls := range config {
		if !strings.HasPrefix(key, "remote.") || !strings.HasSuffix(key, ".url") && !strings.HasSuffix(key, ".pushurl") {
			continue
		}
		for _, text := range urls {
			u, err := url.Parse(text)
			if err != nil || u.User == nil || !strings.HasPrefix(u.Scheme, "http") {
				continue
			}
			secret, ok := u.User.Password()
			if !ok {
				secret = u.User.Username()
			}
			if redact.Unmasked(secret) == "" {
				values = append(values, redact.Value{Name: "remote-url", Text: secret})
			}
		}
	}
	return values
}
