package consent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	keyFile   = "clone.key" // in the private folder
	tokenFile = "token"     // in the user's state folder
	keyBytes  = 32
)

// KeyOf returns the key of the clone of a store, or nil if it has none yet, also if the user's folder cannot be read.
func KeyOf(s *timeline.Store) ([]byte, error) {
	key, err := readKey(s.Private(), keyFile)
	folder, stateErr := StateFolder(s.Env())
	if key == nil || err != nil || stateErr != nil {
		return nil, timeline.Explain(err)
	}
	token, err := readKey(folder, tokenFile)
	if token == nil || err != nil {
		return nil, nil //nolint:nilerr // nothing is agreed to where nobody can read it
	}
	return sealedTo(s, key, token)
}

// OwnKey returns the key as KeyOf does, and makes each half that is missing or damaged. If two processes make a half, both get the same. It is
// called when a person agrees to something. An error says why the clone can have no key, as where the user's folder cannot be written.
func OwnKey(s *timeline.Store) ([]byte, error) {
	folder, err := StateFolder(s.Env())
	if err != nil {
		return nil, err
	}
	err = hide(folder)
	var token []byte
	if err == nil {
		token, err = ownKey(folder, tokenFile, 0o700)
	}
	if err != nil {
		return nil, fault.New(fault.WriteFailed, "the folder %s cannot be written: %w", folder, err).
			Hint("set XDG_STATE_HOME to a folder outside of the repository that you may write")
	}
	key, err := ownKey(s.Private(), keyFile, 0o777) // the umask decides who may read the repository
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return sealedTo(s, key, token)
}

// hide makes the user's folder, with a .gitignore by which no working copy has its files: the home folder may be one.
func hide(folder string) error {
	ignore := filepath.Join(folder, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o600)
}

// sealedTo returns the key that follows from both halves and from where the repository is: the path and, where it stays the same as long as
// the folder, the inode of the private folder. It names neither the machine nor the device, which change when a container or a machine
// starts again.
func sealedTo(s *timeline.Store, key, token []byte) ([]byte, error) {
	at, err := filepath.EvalSymlinks(s.Private())
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	inode, _ := fsx.Inode(at)
	code := hmac.New(sha256.New, token)
	_, _ = fmt.Fprintf(code, "git-smithers place 1\x00%s\x00%d\x00%s", at, inode, key) // never fails
	return code.Sum(nil), nil
}

// StateFolder returns the user's folder for what programs keep. It fails if the environment names none.
func StateFolder(env []string) (string, error) {
	for _, from := range []struct{ variable, below string }{{"XDG_STATE_HOME", ""}, {"HOME", ".local/state"}, {"LOCALAPPDATA", ""}} {
		if path, _ := gitexec.LookupEnv(env, from.variable); filepath.IsAbs(path) {
			return filepath.Join(path, filepath.FromSlash(from.below), "git-smithers"), nil
		}
	}
	return "", fault.New(fault.WriteFailed, "no folder keeps what you agree to: neither XDG_STATE_HOME nor HOME is set").
		Hint("set XDG_STATE_HOME to a folder outside of the repository that you may write")
}

// readKey returns the half of a key in a file, or nil if the file is missing or damaged. In a repository that users share, another user may have
// made the clone's half: the token alone then makes the key.
func readKey(folder, name string) ([]byte, error) {
	key, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrPermission) && name == keyFile {
		return []byte("another user's"), nil
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(key) != keyBytes {
		return nil, nil
	}
	return key, err
}

// ownKey returns the half of a key as readKey does, and makes the file if it is missing, and folders with the permissions mode.
func ownKey(folder, name string, mode fs.FileMode) ([]byte, error) {
	key, err := readKey(folder, name)
	if key != nil || err != nil {
		return key, err
	}
	if err := os.MkdirAll(folder, mode); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(folder, name+".*") // only the user may read it
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a file that stays is harmless
	made := make([]byte, keyBytes)
	_, _ = rand.Read(made) // never fails
	_, err = f.Write(made)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, name)
	if os.Link(f.Name(), path) == nil {
		return made, fsx.SyncDir(folder)
	}
	// Another process made the key first, or the file is damaged, or the file system has no links.
	if key, err := readKey(folder, name); key != nil || err != nil {
		return key, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return nil, err
	}
	return readKey(folder, name)
}

// Seal returns the seal of a text: a code that only who has the key can make.
func Seal(key, text []byte) string {
	code := hmac.New(sha256.New, key)
	code.Write(text)
	return hex.EncodeToString(code.Sum(nil))
}

// Fits reports whether a text has been sealed with the key. It is false without a key.
func Fits(key, text []byte, seal string) bool {
	return key != nil && hmac.Equal([]byte(seal), []byte(Seal(key, text)))
}
