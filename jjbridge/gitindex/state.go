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
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// State is what the index and the copy of the user's index were made from. It is stored as JSON.
type State struct {
	Version int
	Root    string      // the top of the working copy; a state for another top does not count
	User    Fingerprint // of the user's index
	Altered AlteredFiles
}

// AlteredFiles are the files of a capture whose bytes a checkout would change.
type AlteredFiles struct {
	Rules string             // hash of the attributes and settings by which git stores files; "" for none
	Tree  string             // the captured tree
	Files []snapshot.Altered // sorted
}

// StateVersion is the version of the files in a Folder.
const StateVersion = 1

// Fingerprint distinguishes versions of an index file. It is zero for a missing file.
type Fingerprint struct {
	Size int64     `json:",omitzero"`
	Time time.Time `json:",omitzero"`
	Sum  string    `json:",omitzero"`
}

func (f *Folder) statePath() string { return filepath.Join(f.Dir, "state") }

// ReadState returns the state, or the zero State if there is none that can be read.
func (f *Folder) ReadState() State {
	var state State
	data, err := os.ReadFile(f.statePath())
	if err != nil || json.Unmarshal(data, &state) != nil || state.Version != StateVersion {
		return State{}
	}
	return state
}

// WriteState stores the state.
func (f *Folder) WriteState(state State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return replace(f.statePath(), data)
}

// ReadFingerprint returns the fingerprint of an index file and, if whole returns true for it, the
// file's bytes. The fingerprint of a missing file is zero.
func ReadFingerprint(path string, whole func(Fingerprint) bool) (_ Fingerprint, data []byte, err error) {
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
	sum := make([]byte, min(sha1.Size, id.Size))
	if _, err := f.ReadAt(sum, id.Size-int64(len(sum))); err != nil && !errors.Is(err, io.EOF) {
		return Fingerprint{}, nil, err
	}
	if bytes.Equal(sum, make([]byte, len(sum))) { // index.skipHash
		if data, err = io.ReadAll(f); err != nil {
			return Fingerprint{}, nil, err
		}
		all := sha1.Sum(data)
		sum = all[:]
	}
	id.Sum = hex.EncodeToString(sum)
	if data == nil && whole(id) {
		data, err = io.ReadAll(f)
	}
	return id, data, err
}

// ReadTracked reads the copy of the user's index, whose fingerprint is user.
func (f *Folder) ReadTracked(user Fingerprint) (*Index, error) {
	x, err := Read(f.TrackedPath())
	if errors.Is(err, fs.ErrNotExist) && user == (Fingerprint{}) {
		return &Index{}, nil
	}
	return x, err
}

// CopyTracked writes the copy of the user's index. A zero fingerprint removes the copy.
func (f *Folder) CopyTracked(id Fingerprint, data []byte) error {
	if id == (Fingerprint{}) {
		err := os.Remove(f.TrackedPath())
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err := os.WriteFile(f.TrackedPath()+Unfinished, data, 0o666); err != nil {
		return err
	}
	// git looks twice at files that are as old as the index.
	if err := os.Chtimes(f.TrackedPath()+Unfinished, id.Time, id.Time); err != nil {
		return err
	}
	return os.Rename(f.TrackedPath()+Unfinished, f.TrackedPath())
}
