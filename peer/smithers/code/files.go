// Package code reads the code of Smithers' workflows as Smithers does when it resumes a run: the hash of a workflow file,
// the hash of all modules that the file imports, and the repository of a folder.
package code

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Files keeps the hashes of workflow files by their paths, so that each file is read once.
type Files map[string]Hashes

// Hashes are the hashes by which Smithers knows a workflow file.
type Hashes struct {
	Entry string // of the file; "" if the file does not exist
	Graph string // of the file and its modules; "" if Smithers has no such hash
	Known bool   // Graph is certain
}

// Of returns the hashes of a workflow file.
func (files Files) Of(file string) (Hashes, error) {
	if hashes, ok := files[file]; ok {
		return hashes, nil
	}
	var hashes Hashes
	var err error
	if hashes.Entry, err = entryHash(file); err != nil {
		return hashes, err
	}
	hashes.Graph, hashes.Known = GraphHash(file)
	files[file] = hashes
	return hashes, nil
}

// entryHash returns the hash of a workflow file, or "" if the path is not a regular file.
func entryHash(file string) (string, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return Sum(strings.ToValidUTF8(string(data), "\ufffd")), nil
}

// Sum returns the SHA-256 of a text in hex.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Repository returns the repository of a folder as Smithers finds it: the nearest folder above that has .jj or .git,
// even if that is empty or damaged. Both results are "" if there is none.
func Repository(folder string) (top, kind string) {
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		for _, kind := range []string{"jj", "git"} {
			if _, err := os.Stat(filepath.Join(dir, "."+kind)); err == nil {
				return dir, kind
			}
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}
