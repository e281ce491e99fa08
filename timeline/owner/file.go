package owner

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
	// claimsFolder is a folder in the store's private folder. It holds a folder for each run that is executed in this
	// repository on this machine.
	claimsFolder = "claims"
	// tokenBytes is how many random bytes name a claim.
	tokenBytes = 8
	// makeAttempts bounds how often Claim tries again because another process, which clears away files of dead
	// processes, removed the new file.
	makeAttempts = 10
)

// Runs are the runs that are executed in a repository on this machine: a folder for each.
type Runs struct{ path string }

// In returns the runs that a store's private folder knows.
func In(private string) Runs { return Runs{filepath.Join(private, claimsFolder)} }

// Folder returns the folder of a run, which need not exist.
func (r Runs) Folder(run string) (Folder, error) {
	component, err := refs.EscapeRun(run)
	return r.Component(component), err
}

// Component returns the folder of the run that a ref component names.
func (r Runs) Component(component string) Folder { return Folder{filepath.Join(r.path, component)} }

// Components lists the ref components of the runs that have a folder.
func (r Runs) Components() ([]string, error) {
	entries, err := os.ReadDir(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, entry := range entries {
		if entry.IsDir() {
			out = append(out, entry.Name())
		}
	}
	return out, err
}

// Folder holds the files of the claims on one run. While it exists, the run is executed on
// this machine and has not ended.
type Folder struct{ path string }

// Path returns the folder's path.
func (d Folder) Path() string { return d.path }

// File is the file of this process's claim on a run. The process holds its flock for as long
// as it lives, and touches the file with every beat.
type File struct {
	path string
	lock *flock.Flock
	made bool // Claim made the folder too
}

// process is the content of a claim's file: the process that made the claim.
type process struct {
	PID     int       `json:"pid"`
	Epoch   int64     `json:"epoch"`
	Started time.Time `json:"started"`
}

// isToken reports whether s is a name that Claim makes. A run's row may come from another
// repository, and its owner is used as a file name.
func isToken(s string) bool {
	return len(s) == 2*tokenBytes && strings.Trim(s, "0123456789abcdef") == ""
}

// Token names the claim, in the run's row and as the name of the file.
func (f *File) Token() string { return filepath.Base(f.path) }

var errCleared = errors.New("the claim's file was removed while it was made")

// Claim makes the file of a new claim, locked and written. If durable, the file and its folders
// are on stable storage.
func (d Folder) Claim(epoch int64, now time.Time, durable bool) (*File, error) {
	var f *File
	made, err := false, errCleared
	for try := 0; errors.Is(err, errCleared) && try < makeAttempts; try++ {
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
	err = f.write(process{os.Getpid(), epoch, now.UTC()}, durable)
	if err == nil {
		err = f.Touch(now)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claim in %s: %w", d.path, err), f.Undo())
	}
	return f, nil
}

// make makes the folder, and reports whether it made it.
func (d Folder) make() (bool, error) {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o777); err != nil {
		return false, err
	}
	err := os.Mkdir(d.path, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// newFile makes and locks an empty file. It returns errCleared if the file or the folder was
// removed before the file was locked.
func (d Folder) newFile() (*File, error) {
	var random [tokenBytes]byte
	rand.Read(random[:])
	f := &File{path: filepath.Join(d.path, hex.EncodeToString(random[:]))}
	f.lock = flock.New(f.path, flock.SetFlag(os.O_CREATE|os.O_EXCL|os.O_RDWR), flock.SetPermissions(0o666))
	locked, err := f.lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errCleared
	}
	if err != nil {
		return nil, err
	}
	mine, err1 := f.lock.Stat()
	named, err2 := os.Stat(f.path)
	if locked && err1 == nil && err2 == nil && os.SameFile(mine, named) {
		return f, nil
	}
	return nil, errors.Join(errCleared, f.Discard())
}

func (f *File) write(owner process, durable bool) error {
	data, err := json.Marshal(owner)
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
	// The folder must survive a power cut, since it shows that the run was executed here.
	folder := filepath.Dir(f.path)
	return errors.Join(fsx.SyncDir(folder), fsx.SyncDir(filepath.Dir(folder)))
}

// Touch records that this process is alive at a time. The error wraps fs.ErrNotExist if another
// process has removed the file.
func (f *File) Touch(now time.Time) error { return os.Chtimes(f.path, now, now) }

// Discard removes the file, and unlocks it after that: another process must not take this
// one for dead while the file exists.
func (f *File) Discard() error {
	err := os.Remove(f.path)
	if errors.Is(err, fs.ErrNotExist) { // another process has taken the run over
		err = nil
	}
	return errors.Join(err, f.lock.Close())
}

// Undo is Discard for a claim whose entry was not appended. It also removes the folder if Claim
// made it, since the run is not executed here.
func (f *File) Undo() error {
	err := f.Discard()
	if f.made {
		_ = os.Remove(filepath.Dir(f.path)) // fails if another claim is in the folder, as it should
	}
	return err
}

// claim is the state of a claim, read from its file.
type claim struct {
	process process
	beatAt  time.Time
	locked  bool // by the process that made it, which is therefore alive
}

// look reads the file of a claim. The error wraps fs.ErrNotExist if there is no file.
func (d Folder) look(token string) (claim, error) {
	path := filepath.Join(d.path, token)
	info, err := os.Stat(path)
	if err != nil {
		return claim{}, err
	}
	seen := claim{beatAt: info.ModTime(), locked: true}
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &seen.process) != nil {
		seen.process = process{} // it is only shown to people: the lock and the age decide whether the owner is alive
	}
	err = d.ifDead(token, func(string) error {
		seen.locked = false
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return claim{}, err
	}
	return seen, nil // if the lock cannot be tried, the age alone decides
}

// ifDead calls f with the path of a claim's file if the process that made it is gone. The
// file stays locked meanwhile.
func (d Folder) ifDead(token string, f func(path string) error) error {
	path := filepath.Join(d.path, token)
	// A shared lock, so that two readers do not take each other for the owner.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err != nil || !free {
		return err
	}
	return errors.Join(f(path), lock.Close())
}

// Clear removes the claim file of the owner before, so that the process learns that it has lost the run, and the
// files of processes that are gone.
func (d Folder) Clear(before string) error {
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

// Remove removes the folder, unless a live process has claimed the run.
func (d Folder) Remove() {
	if d.Clear("") == nil {
		_ = os.Remove(d.path) // fails if a claim is in the folder, as it should
	}
}

// Leave unlocks the file and keeps it: the run's row still names this claim, and the file shows that the claim was made
// here.
func (f *File) Leave() error { return f.lock.Close() }
