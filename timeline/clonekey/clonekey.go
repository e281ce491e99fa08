// Package clonekey keeps the key with which a clone seals what it stores for the whole repository. The key never leaves the clone, so what
// came with a clone, a fetch or a bundle is known as somebody else's.
package clonekey

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/timeline"
)

const (
	keyFile  = "clone.key" // in the private folder
	keyBytes = 32
)

// Of returns the key of the clone of a store, or nil if it has none yet.
func Of(s *timeline.Store) ([]byte, error) {
	key, err := os.ReadFile(filepath.Join(s.Private(), keyFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(key) != keyBytes {
		return nil, nil
	}
	return key, timeline.Explain(err)
}

// Own returns the key as Of does, and makes a key if the clone has none or a damaged one. If two processes make a key, both get the same.
func Own(s *timeline.Store) ([]byte, error) {
	key, err := Of(s)
	if key != nil || err != nil {
		return key, err
	}
	if err := os.MkdirAll(s.Private(), 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return nil, timeline.Explain(err)
	}
	f, err := os.CreateTemp(s.Private(), keyFile+".*") // only the user may read it
	if err != nil {
		return nil, timeline.Explain(err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a file that stays is harmless
	made := make([]byte, keyBytes)
	_, _ = rand.Read(made) // never fails
	_, err = f.Write(made)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, timeline.Explain(err)
	}
	path := filepath.Join(s.Private(), keyFile)
	if os.Link(f.Name(), path) == nil {
		return made, nil
	}
	// Another process made the key first, or the file is damaged, or the file system has no links.
	if key, err := Of(s); key != nil || err != nil {
		return key, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return nil, timeline.Explain(err)
	}
	return Of(s)
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
