package jjbridge

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/objstore"
)

// indexState says what a private index was made from; it is the file state.
type indexState struct {
	Version int
	Root    string // the top of the working copy: files elsewhere are others
	User    userIndex
	Altered alteredState
}

// indexStateVersion is the version of what is in a private index's folder.
const indexStateVersion = 1

// userIndex tells versions of the user's index apart; zero where there is none.
type userIndex struct {
	Size int64     `json:",omitzero"`
	Time time.Time `json:",omitzero"`
	Sum  string    `json:",omitzero"`
}

func (p *privateIndex) statePath() string { return filepath.Join(p.dir, "state") }

// readState is the state as it was written last; what cannot be read is none.
func (p *privateIndex) readState() indexState {
	var state indexState
	data, err := os.ReadFile(p.statePath())
	if err != nil || json.Unmarshal(data, &state) != nil || state.Version != indexStateVersion {
		return indexState{}
	}
	return state
}

func (p *privateIndex) writeState(state indexState) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return replace(p.statePath(), data)
}

// userIndexOf reads which version of an index file there is, and the file itself where
// whole says so. That of a missing file is zero.
func userIndexOf(path string, whole func(userIndex) bool) (_ userIndex, data []byte, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return userIndex{}, nil, nil
	}
	if err != nil {
		return userIndex{}, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return userIndex{}, nil, err
	}
	id := userIndex{Size: info.Size(), Time: info.ModTime().UTC()}
	sum := make([]byte, min(sha1.Size, id.Size))
	if _, err := f.ReadAt(sum, id.Size-int64(len(sum))); err != nil && !errors.Is(err, io.EOF) {
		return userIndex{}, nil, err
	}
	if bytes.Equal(sum, make([]byte, len(sum))) { // index.skipHash
		if data, err = io.ReadAll(f); err != nil {
			return userIndex{}, nil, err
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

// copyTracked puts the user's index, which git replaces and never changes, into the
// file tracked, whole, and returns what is in it.
func (p *privateIndex) copyTracked(ctx context.Context, w *Workspace, id userIndex, data []byte, warn func(error)) (*index, error) {
	if id == (userIndex{}) {
		err := os.Remove(p.tracked())
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return &index{}, err
	}
	if err := os.WriteFile(p.tracked()+unfinished, data, 0o666); err != nil {
		return nil, err
	}
	// What git makes of files that are as old as the index follows from its time.
	if err := os.Chtimes(p.tracked()+unfinished, id.Time, id.Time); err != nil {
		return nil, err
	}
	if err := os.Rename(p.tracked()+unfinished, p.tracked()); err != nil {
		return nil, err
	}
	if entries, err := parseIndex(data); err == nil {
		return &index{entries: entries, made: id.Time}, nil
	}
	env := []string{"GIT_INDEX_FILE=" + p.tracked()}
	_, err := w.gitWith(ctx, gitRun{args: []string{"update-index", "--force-write-index"}, env: env, settings: readSettings})
	if err == nil {
		return readIndex(p.tracked())
	}
	if ctx.Err() != nil {
		return nil, err
	}
	warn(fmt.Errorf("git's index cannot be read, so the files of the last commit are taken for the tracked ones: %w", err))
	if err := os.Remove(p.tracked()); err != nil {
		return nil, err
	}
	return p.trackByHead(ctx, w)
}

// trackByHead makes tracked the index of HEAD's tree.
func (p *privateIndex) trackByHead(ctx context.Context, w *Workspace) (*index, error) {
	commit, _, err := w.Head(ctx)
	if err != nil || commit == "" {
		return &index{}, err
	}
	_, err = w.gitWith(ctx, gitRun{
		args: []string{"read-tree", commit}, env: []string{"GIT_INDEX_FILE=" + p.tracked()}, settings: readSettings,
	})
	if err != nil {
		return nil, err
	}
	return readIndex(p.tracked())
}

// anyID stands for a content that nobody knows. It is that of an empty file.
func anyID() objstore.ID { return objstore.Hash(objstore.Blob, nil) }
