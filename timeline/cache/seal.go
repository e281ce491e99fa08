package cache

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/timeline"
)

const (
	keyFile  = "cache.key" // in the private folder
	keyBytes = 32
)

// key returns the key with which this clone seals its entries, or nil if it has none. It never leaves the clone, so an entry that came
// with a clone, a fetch or a bundle is known as somebody else's.
func (c *Cache) key() ([]byte, error) {
	key, err := os.ReadFile(filepath.Join(c.store.Private(), keyFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(key) != keyBytes {
		return nil, nil
	}
	return key, timeline.Explain(err)
}

// ownKey returns the key as key does, and makes a key if the clone has none or a damaged one. If two processes make a key, both get the same.
func (c *Cache) ownKey() ([]byte, error) {
	key, err := c.key()
	if key != nil || err != nil {
		return key, err
	}
	if err := os.MkdirAll(c.store.Private(), 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return nil, timeline.Explain(err)
	}
	f, err := os.CreateTemp(c.store.Private(), keyFile+".*") // only the user may read it
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
	path := filepath.Join(c.store.Private(), keyFile)
	if os.Link(f.Name(), path) == nil {
		return made, nil
	}
	// Another process made the key first, or the file is damaged, or the file system has no links.
	if key, err := c.key(); key != nil || err != nil {
		return key, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return nil, timeline.Explain(err)
	}
	return c.key()
}

// seal returns the seal of an entry: a code that only who has the key can make for what the document says.
func (d entryDocument) seal(key []byte) string {
	d.Seal = ""
	text, _ := json.Marshal(d) //nolint:errchkjson // texts and numbers encode always
	code := hmac.New(sha256.New, key)
	code.Write(text)
	return hex.EncodeToString(code.Sum(nil))
}
