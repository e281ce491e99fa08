// Package code reads the code of Smithers' workflows as Smithers does when it resumes a run. It finds the hash of a
// workflow file, the hash of all modules that the file imports, and the repository of a folder.
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

// Files caches the hashes of workflow files by their paths, so that each file is read only once.
type Files map[string]Hashes

// Hashes has the hashes by which Smithers identifies a workflow file.
type Hashes struct {
	Entry string // the hash of the file; "" if the path is not a regular file
	Graph string // the hash of the file and its modules; "" if Smithers has no such hash or Known is false
	Known bool   // Graph is certain
}

// Of returns the hashes of the workflow file whose path is file. The first successful call for a file keeps the
// hashes in files; later calls return these hashes, even if the file has changed. Of returns an error if the file
// exists and cannot be read.
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

// entryHash returns the hash of the workflow file whose path is file, or "" if file is missing or not a regular
// file. It hashes each run of bytes that are not UTF-8 as one U+FFFD.
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

// Sum returns the SHA-256 of text in hex.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Repository returns the top of the repository that contains folder, and the repository's kind, "jj" or "git".
// Like Smithers, it takes the nearest folder that has .jj or .git, even if .jj or .git is empty or damaged. If
// there is no such folder, both results are "".
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
