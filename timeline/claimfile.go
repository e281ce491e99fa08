package timeline

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	// claimsFolder holds a folder for each run that is executed in this repository on
	// this machine, under the store's private one.
	claimsFolder = "claims"
	// tokenBytes is how many random bytes name a claim.
	tokenBytes = 8
	// claimAttempts bounds the making of a claim's file against processes that clear
	// away what the dead left.
	claimAttempts = 10
)

// claimFolder holds the files of the claims on one run. That it is there says that the
// run is executed here and has not ended.
type claimFolder struct{ path string }

func (s *Store) claimFolder(run string) (claimFolder, error) {
	component, err := refs.EscapeRun(run)
	return claimFolder{filepath.Join(s.claimsPath(), component)}, err
}

func (s *Store) claimsPath() string {
	return filepath.Join(s.repo.CommonDir, PrivateDir, claimsFolder)
}

// claimFile is the file of this process's claim. Who can have its flock knows that this
// process is gone; when it was last modified is when this process was last seen.
type claimFile struct {
	path string
	lock *flock.Flock
	made bool // with its folder
}

// claimNote is what a claim's file says. It is for this machine alone.
type claimNote struct {
	PID     int       `json:"pid"`
	Epoch   int64     `json:"epoch"`
	Started time.Time `json:"started"`
}

// isToken reports whether s is a claim's name as they are made up here. What a run's row
// says may come from elsewhere, and is about to be a file's name.
func isToken(s string) bool {
	return len(s) == 2*tokenBytes && strings.Trim(s, "0123456789abcdef") == ""
}

func (f *claimFile) token() string { return filepath.Base(f.path) }

var errClearedClaim = errors.New("the claim's file was taken for a dead process's")

// claim makes the file of a new claim, locked and written.
func (d claimFolder) claim(epoch int64, now time.Time, durable bool) (*claimFile, error) {
	var f *claimFile
	made, err := false, errClearedClaim
	for try := 0; errors.Is(err, errClearedClaim) && try < claimAttempts; try++ {
		var fresh bool
		if fresh, err = d.make(); err == nil {
			f, err = d.newFile()
		}
		made = made || fresh
	}
	if err != nil {
		return nil, fmt.Errorf("claim in %s: %w", d.path, err)
	}
	f.made = made
	err = f.write(claimNote{os.Getpid(), epoch, now.UTC()}, durable)
	if err == nil {
		err = f.touch(now)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claim in %s: %w", d.path, err), f.undo())
	}
	return f, nil
}

// make makes the folder, and tells whether it was not there before.
func (d claimFolder) make() (bool, error) {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o777); err != nil {
		return false, err
	}
	err := os.Mkdir(d.path, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// newFile makes and locks an empty file. errClearedClaim where it, or the folder, was
// cleared away before it was locked.
func (d claimFolder) newFile() (*claimFile, error) {
	var random [tokenBytes]byte
	rand.Read(random[:])
	f := &claimFile{path: filepath.Join(d.path, hex.EncodeToString(random[:]))}
	f.lock = flock.New(f.path, flock.SetFlag(os.O_CREATE|os.O_EXCL|os.O_RDWR), flock.SetPermissions(0o666))
	locked, err := f.lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errClearedClaim
	}
	if err != nil {
		return nil, err
	}
	mine, err1 := f.lock.Stat()
	named, err2 := os.Stat(f.path)
	if locked && err1 == nil && err2 == nil && os.SameFile(mine, named) {
		return f, nil
	}
	return nil, errors.Join(errClearedClaim, f.discard())
}

func (f *claimFile) write(note claimNote, durable bool) error {
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if durable && err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil || !durable {
		return err
	}
	// After a power cut the folder still says that the run was executed here.
	folder := filepath.Dir(f.path)
	return errors.Join(fsx.SyncDir(folder), fsx.SyncDir(filepath.Dir(folder)))
}

// touch says that this process was alive at a time. The error wraps fs.ErrNotExist when
// the file is gone.
func (f *claimFile) touch(now time.Time) error { return os.Chtimes(f.path, now, now) }

// discard removes the file. Its flock goes last, so that nobody takes a living process
// for a dead one.
func (f *claimFile) discard() error {
	err := os.Remove(f.path)
	if errors.Is(err, fs.ErrNotExist) { // another process has taken the run over
		err = nil
	}
	return errors.Join(err, f.lock.Close())
}

// undo is discard for a claim that came to nothing: of a run that was not executed here
// before, nothing says that it was.
func (f *claimFile) undo() error {
	err := f.discard()
	if f.made {
		_ = os.Remove(filepath.Dir(f.path)) // another claim in it keeps it
	}
	return err
}

// seenClaim is what there is to see of a claim.
type seenClaim struct {
	note   claimNote
	beatAt time.Time
	locked bool // by whoever made it, who is therefore not gone
}

// look looks at the file of a claim. The error wraps fs.ErrNotExist where there is none.
func (d claimFolder) look(token string) (seenClaim, error) {
	path := filepath.Join(d.path, token)
	info, err := os.Stat(path)
	if err != nil {
		return seenClaim{}, err
	}
	seen := seenClaim{beatAt: info.ModTime(), locked: true}
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &seen.note) != nil {
		seen.note = claimNote{} // it is for people, and says nothing of who is alive
	}
	err = d.ifDead(token, func(string) error {
		seen.locked = false
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return seenClaim{}, err
	}
	return seen, nil // of what cannot be asked the age alone decides
}

// ifDead calls f with the path of a claim's file if the process that made it is gone.
// Nobody claims that file meanwhile.
func (d claimFolder) ifDead(token string, f func(path string) error) error {
	path := filepath.Join(d.path, token)
	// A shared lock: who looks at the same time is not to be taken for the owner.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err != nil || !free {
		return err
	}
	return errors.Join(f(path), lock.Close())
}

// clear removes the file of the owner before, by which that process learns that it has
// lost the run, and those of other processes that are gone.
func (d claimFolder) clear(before string) error {
	entries, err := os.ReadDir(d.path)
	for _, entry := range entries {
		token := entry.Name()
		if !isToken(token) {
			continue
		}
		remove := d.ifDead(token, os.Remove)
		if token == before {
			remove = os.Remove(filepath.Join(d.path, token))
		}
		if remove != nil && !errors.Is(remove, fs.ErrNotExist) {
			err = errors.Join(err, remove)
		}
	}
	return err
}

// remove removes the folder, unless somebody claims the run.
func (d claimFolder) remove() {
	if d.clear("") == nil {
		_ = os.Remove(d.path) // a claim in it keeps it
	}
}
