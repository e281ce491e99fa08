package gitindex

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// State records the sources of the files of a Folder. It is stored as JSON.
type State struct {
	Version int
	Root    string      // the top of the working copy; a state for another top does not count
	User    Fingerprint // of the user's index, of which TrackedPath is a copy
	Survey  Survey      // of the user's index
	Changed Fingerprint // of the file ChangedPath that belongs to Tree
	Tree    objstore.ID // the tree of the last capture, which has the content of each entry of the file ChangedPath
	Altered AlteredFiles
	Secrets SearchedFiles
}

// SearchedFiles records what a search for secrets has found in the files of a working copy.
type SearchedFiles struct {
	// Rules names the rules of the last capture's search. With the same rules, a file without a record that the last
	// capture has read has no secret. "" means that the last capture searched no files.
	Rules string       `json:",omitzero"`
	Tree  objstore.ID  `json:",omitzero"` // in a jj workspace, the tree of the commit that was searched; otherwise zero
	Found []SecretFile `json:",omitzero"` // sorted by path, each path once
}

// SecretFile is a file in which a search has found a secret.
type SecretFile struct {
	Path string // as snapshot.EscapePath spells the path, so each once and sorted by this spelling
	Rule string `json:",omitzero"` // the rule that found the secret; "" if the file's name says that it has secrets
	Out  bool   `json:",omitzero"` // the capture left the file out, so its content may be missing in State.Tree
}

// Equal reports whether s and other have the same content.
func (s SearchedFiles) Equal(other SearchedFiles) bool {
	return s.Rules == other.Rules && s.Tree == other.Tree && slices.Equal(s.Found, other.Found)
}

// AlteredFiles lists the files of a capture whose bytes a checkout would change.
type AlteredFiles struct {
	Rules string                 // hash of the attributes and settings by which git stores files; "" if there are none
	Tree  objstore.ID            // the captured tree that has Files
	Files []snapshot.AlteredFile // sorted by path
}

// StateVersion is the version of the files in a Folder.
const StateVersion = 3

// Fingerprint distinguishes versions of an index file. A missing file has the zero Fingerprint.
type Fingerprint struct {
	Size int64     `json:",omitzero"` // in bytes
	Time time.Time `json:",omitzero"` // the modification time, in UTC
	Sum  string    `json:",omitzero"` // the file's own checksum, or its SHA-1 if the file has no checksum; in hex
}

// statePath returns the path of the file with the State.
func (f *Folder) statePath() string { return filepath.Join(f.Dir, "state") }

// ReadState returns the stored state. If there is no state, or the state is unreadable or of another version,
// ReadState returns the zero State.
func (f *Folder) ReadState() State {
	var state State
	data, err := os.ReadFile(f.statePath())
	if err != nil || json.Unmarshal(data, &state) != nil || state.Version != StateVersion {
		return State{}
	}
	return state
}

// WriteState stores state in the folder.
func (f *Folder) WriteState(state State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return replace(f.statePath(), data)
}

// ReadFingerprint returns the fingerprint of the index file at path. If the file is missing, the fingerprint is
// zero and data is nil. If the file has no checksum, ReadFingerprint computes one, and data is the whole
// content. Otherwise ReadFingerprint calls wantData with the fingerprint: data is the whole content if wantData
// returns true, and nil if not.
func ReadFingerprint(path string, wantData func(Fingerprint) bool) (_ Fingerprint, data []byte, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Fingerprint{}, nil, nil
	}
	if err != nil {
		return Fingerprint{}, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return Fingerprint{}, nil, err
	}
	id := Fingerprint{Size: info.Size(), Time: info.ModTime().UTC()}
	// An index file ends with its checksum.
	sum := make([]byte, min(sha1.Size, id.Size))
	if _, err := f.ReadAt(sum, id.Size-int64(len(sum))); err != nil && !errors.Is(err, io.EOF) {
		return Fingerprint{}, nil, err
	}
	if bytes.Equal(sum, make([]byte, len(sum))) { // index.skipHash leaves zeros in place of the checksum
		if data, err = io.ReadAll(f); err != nil {
			return Fingerprint{}, nil, err
		}
		all := sha1.Sum(data)
		sum = all[:]
	}
	id.Sum = hex.EncodeToString(sum)
	if data == nil && wantData(id) {
		data, err = io.ReadAll(f)
	}
	return id, data, err
}

// CopyTracked writes data, the content of the user's index, to TrackedPath. id is the fingerprint of that
// index, and the copy gets the modification time in id. If id is zero, the user has no index, and CopyTracked
// removes the copy.
func (f *Folder) CopyTracked(id Fingerprint, data []byte) error {
	if id == (Fingerprint{}) {
		err := os.Remove(f.TrackedPath())
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	return writeDated(f.TrackedPath(), data, id.Time)
}

// UseTracked replaces the index at IndexPath by a copy of the file at TrackedPath, with the same modification
// time. If the file at TrackedPath is missing, UseTracked removes the index.
func (f *Folder) UseTracked() error {
	data, err := os.ReadFile(f.TrackedPath())
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(f.TrackedPath()); err == nil {
			return writeDated(f.IndexPath(), data, info.ModTime())
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err = os.Remove(f.IndexPath()); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// writeDated replaces the index file at path by data, and sets its modification time to date. The time must be
// right, because git reads again each file that is not older than the index.
func writeDated(path string, data []byte, date time.Time) error {
	if err := os.WriteFile(path+Unfinished, data, 0o666); err != nil {
		return err
	}
	if err := os.Chtimes(path+Unfinished, date, date); err != nil {
		return err
	}
	return os.Rename(path+Unfinished, path)
}
