package vault

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// namedFile has the secrets that the user has named. No run's file has this name; see lockName.
const namedFile = ".secrets"

// ReadNamed returns the secrets that the user has named in the vault in dir, by name. Code: vault_damaged.
func ReadNamed(dir string) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, namedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(err)
	}
	var encoded map[string][]byte // base64, as the other files have it: a search of the folder finds no secret
	if err := json.Unmarshal(data, &encoded); err != nil {
		return nil, fault.New(fault.VaultDamaged, "the list of named secrets is damaged: %w", err).
			Hint("repair the file smithers/vault/%s in the git directory, or move it away and add the secrets again", namedFile)
	}
	named := make(map[string]string, len(encoded))
	for name, value := range encoded {
		named[name] = string(value)
	}
	return named, nil
}

// SetNamed sets the secret with a name in the vault in dir.
func SetNamed(dir, name, value string) error {
	return changeNamed(dir, func(named map[string][]byte) bool {
		named[name] = []byte(value)
		return true
	})
}

// RemoveNamed removes the secret with a name from the vault in dir. It reports whether there was one.
func RemoveNamed(dir, name string) (had bool, err error) {
	err = changeNamed(dir, func(named map[string][]byte) bool {
		_, had = named[name]
		delete(named, name)
		return had
	})
	return had, err
}

// changeNamed calls change with the named secrets, and writes them if change returns true. Processes wait for each other.
func changeNamed(dir string, change func(map[string][]byte) bool) error {
	unlock, err := lockFiles(dir)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := ReadNamed(dir)
	if err != nil {
		return err
	}
	named := make(map[string][]byte, len(before))
	for name, value := range before {
		named[name] = []byte(value)
	}
	if !change(named) {
		return nil
	}
	data, err := json.Marshal(named)
	if err != nil {
		return failed(err)
	}
	if err := fsx.Replace(filepath.Join(dir, namedFile), data, 0o600); err != nil {
		return failed(err)
	}
	return nil
}
