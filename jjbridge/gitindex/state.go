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

// State describes the sources of the index and of the copy of the user's index. It is stored as JSON.
type State struct {
	Version int          // StateVersion
	Root    string       // the top of the working copy; a state for another top does not count
	User    Fingerprint  // of the user's index
	Altered AlteredFiles // of the last capture that looked for altered files
}

// AlteredFiles lists the files of a capture whose bytes a checkout would change.
type AlteredFiles struct {
	Rules string             // hash of the attributes and settings by which git stores files; "" before the first list
	Tree  string             // the id of the captured tree
	Files []snapshot.Altered // sorted by path
}

// StateVersion is the version of the format of a Folder's files. A state of another version does not count.
const StateVersion = 1

// Fingerprint distinguishes versions of an index file. A missing file has the zero Fingerprint.
type Fingerprint struct {
	Size int64     `json:",omitzero"` // in bytes
	Time time.Time `json:",omitzero"` // the modification time, in UTC
	Sum  string    `json:",omitzero"` // the file's own checksum, or its SHA-1 if the file has no checksum; in hex
}

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

// ReadFingerprint returns the fingerprint of the index file at path. data is the whole file if whole returns
// true for the fingerprint, or if the file has no checksum; otherwise nil. If the file is missing, the
// fingerprint is zero and data is nil.
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
	if bytes.Equal(sum, make([]byte, len(sum))) { // index.skipHash leaves zeros in place of the checksum
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

// ReadTracked returns the copy of the user's index. If user, the fingerprint of the user's index, is zero, a
// missing copy stands for an empty index. Otherwise the error wraps fs.ErrNotExist if the copy is missing.
func (f *Folder) ReadTracked(user Fingerprint) (*Index, error) {
	x, err := Read(f.TrackedPath())
	if errors.Is(err, fs.ErrNotExist) && user == (Fingerprint{}) {
		return &Index{}, nil
	}
	return x, err
}

// CopyTracked writes the copy of the user's index, which has the fingerprint id and the content data. If id
// is zero, CopyTracked removes the copy.
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
	// git compares a file's time with the index's, so the copy keeps the time of the user's index.
	if err := os.Chtimes(f.TrackedPath()+Unfinished, id.Time, id.Time); err != nil {
		return err
	}
	return os.Rename(f.TrackedPath()+Unfinished, f.TrackedPath())
}
