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
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/procgroup"
	"github.com/git-smithers/git-smithers/refs"
)

const (
	// claimsFolder is a folder in the store's private folder. It has a folder for each run that is executed in this
	// repository on this machine.
	claimsFolder = "claims"
	// tokenBytes is the number of random bytes in the name of a claim.
	tokenBytes = 8
	// makeAttempts is the largest number of times that Claim tries to make its file. Another process, which
	// clears away the files of dead processes, may remove the new file before the file is locked.
	makeAttempts = 10
)

// Runs are the runs that are executed in a repository on this machine. Each run has a folder.
type Runs struct{ path string }

// In returns the Runs of a store. private is the path of the store's private folder.
func In(private string) Runs { return Runs{filepath.Join(private, claimsFolder)} }

// Folder returns the folder of the run with the id run. It does not check whether the folder exists. The error
// wraps refs.ErrMalformed if run is empty.
func (r Runs) Folder(run string) (Folder, error) {
	component, err := refs.EscapeRun(run)
	return r.Component(component), err
}

// Component returns the folder of the run with the given ref component (see refs.EscapeRun). It does not check
// whether the folder exists.
func (r Runs) Component(component string) Folder { return Folder{filepath.Join(r.path, component)} }

// Components returns the ref components of the runs that have a folder. If no run was executed here, it returns
// nil.
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

// Folder holds the files of the claims on one run. While the folder exists, the run is executed on this machine
// and has not ended.
type Folder struct{ path string }

// Path returns the folder's path.
func (d Folder) Path() string { return d.path }

// File is the file of this process's claim on a run. The process holds the file's lock until Discard, Undo or
// Leave, or until the process ends. The process touches the file with every heartbeat.
type File struct {
	path string
	lock *flock.Flock
	made bool // Claim has made the folder, too
}

// process is the content of a claim's file. It describes the process that made the claim.
type process struct {
	PID     int       `json:"pid"`               // the process id
	Epoch   int64     `json:"epoch"`             // the run's epoch with the claim
	Started time.Time `json:"started"`           // the time of the claim
	Place   string    `json:"place"`             // the fsx.Mark of the private folder; "" of an earlier version
	Machine string    `json:"machine,omitempty"` // the machine of the process, until its next start; "" if unknown
}

// isToken reports whether s has the form of the names that Claim gives to files. Callers check the owner in a run's row
// before they use it as a file name, because the row may come from another repository.
func isToken(s string) bool {
	return len(s) == 2*tokenBytes && strings.Trim(s, "0123456789abcdef") == ""
}

// Token returns the name of the claim, which is the owner in the run's row and the name of the file.
func (f *File) Token() string { return filepath.Base(f.path) }

// errCleared is the error of newFile if another process removed the file or its folder too early.
var errCleared = errors.New("the claim's file was removed while it was made")

// Claim makes, locks and writes the file of a new claim, and makes the folder if it is missing. epoch is the run's
// epoch with the claim. now is the time of the claim and of the first heartbeat. If durable is true, the file and
// its folders are on stable storage when Claim returns. If Claim cannot write the file, it removes the file and a
// new folder.
func (d Folder) Claim(epoch int64, now time.Time, durable bool) (*File, error) {
	var f *File
	// err begins as errCleared, so that the loop makes a first try.
	made, err := false, errCleared
	// Another process that clears the folder may remove the new folder or file, so Claim tries again.
	for try := 0; errors.Is(err, errCleared) && try < makeAttempts; try++ {
		var fresh bool
		if fresh, err = d.make(); err == nil {
			f, err = d.newFile()
		}
		made = made || fresh
	}
	if err != nil {
		return nil, fmt.Errorf("the run cannot be claimed in %s: %w", d.path, err)
	}
	f.made = made
	err = f.write(process{os.Getpid(), epoch, now.UTC(), d.place(), procgroup.Boot()}, durable)
	if err == nil {
		err = f.Touch(now)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the run cannot be claimed in %s: %w", d.path, err), f.Undo())
	}
	return f, nil
}

// place returns the fsx.Mark of the private folder.
func (d Folder) place() string { return fsx.Mark(filepath.Dir(filepath.Dir(d.path))) }

// make makes the folder and returns true. If the folder exists, make returns false without an error.
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

// newFile makes and locks an empty file with a random name in the folder. If another process removes the folder or
// the file before the file is locked, newFile returns errCleared.
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

// write writes owner, a description of the process that made the claim, to the file. If durable is true, write
// puts the file, its folder and the folder above on stable storage.
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
	// The folder must survive a power cut, because the folder shows that the run was executed on this machine.
	folder := filepath.Dir(f.path)
	return errors.Join(fsx.SyncDir(folder), fsx.SyncDir(filepath.Dir(folder)))
}

// Touch records a heartbeat, which shows that this process is alive. now is the current time. The error wraps
// fs.ErrNotExist if another process has removed the file.
func (f *File) Touch(now time.Time) error { return os.Chtimes(f.path, now, now) }

// Discard removes the file and then unlocks the file. In the other order, another process could take this
// process for dead. A missing file is not an error.
func (f *File) Discard() error {
	return fsx.RemoveHeld(f.lock, func() error {
		err := os.Remove(f.path)
		if errors.Is(err, fs.ErrNotExist) { // another process has taken the run over and removed the file
			err = nil
		}
		return err
	})
}

// Undo discards the file of a claim whose entry was not appended (see Discard). If Claim made the folder, Undo
// also removes the folder, since the run is not executed on this machine.
func (f *File) Undo() error {
	err := f.Discard()
	if f.made {
		_ = os.Remove(filepath.Dir(f.path)) // the removal fails, as it should, if the folder has another claim
	}
	return err
}

// claim is the state of a claim according to its file.
type claim struct {
	process process
	beatAt  time.Time // the time of the last heartbeat
	locked  bool      // the process that made the claim has the lock, and is therefore alive, or that cannot be known
	vague   bool      // locks of files do not tell whether the process is alive
}

// look returns the state of the claim with the given token, according to its file. If the content of the file is
// unreadable, the field process is zero. If the lock cannot be tried, or tells nothing, the field locked is true. The error wraps
// fs.ErrNotExist if the claim has no file, or a file that came with a copy of the repository: nobody can lock that one.
func (d Folder) look(token string) (claim, error) {
	path := filepath.Join(d.path, token)
	info, err := os.Stat(path)
	if err != nil {
		return claim{}, err
	}
	seen := claim{beatAt: info.ModTime(), locked: true}
	seen.process = d.processOf(token) // for people, its place and its machine: the lock and the time of the heartbeat decide whether the owner is alive
	if seen.process.Place != "" && seen.process.Place != d.place() {
		return claim{}, fs.ErrNotExist
	}
	seen.vague = !holds(path, seen.process)
	err = d.ifDead(token, func(string) error {
		seen.locked = false
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return claim{}, err
	}
	return seen, nil // if the lock cannot be tried, the time of the heartbeat alone decides
}

// processOf returns the content of a claim's file. If the file is unreadable, the result is zero.
func (d Folder) processOf(token string) (p process) {
	if data, err := os.ReadFile(filepath.Join(d.path, token)); err != nil || json.Unmarshal(data, &p) != nil {
		return process{}
	}
	return p
}

// holds reports whether the lock of the file at path shows if the process p is alive. The lock does not show it if the process runs, or
// ran, on another machine or before the last start of this one: two machines that share the file system may not see each other's
// locks. Nor does it where every lock is granted. The caller then has the time of the heartbeat alone.
func holds(path string, p process) bool {
	if here := procgroup.Boot(); p.Machine != "" && here != "" && p.Machine != here {
		return false
	}
	shared, alone := flock.New(path, flock.SetFlag(os.O_RDONLY)), flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer shared.Close() //nolint:errcheck // the file was only locked
	defer alone.Close()  //nolint:errcheck // as above
	if locked, err := shared.TryRLock(); err != nil || !locked {
		return true
	}
	both, _ := alone.TryLock()
	return !both
}

// ifDead calls f with the path of a claim's file if the process that made the claim is dead, and returns the error
// of f. The file stays locked meanwhile. If the process is alive, or its lock tells nothing (see holds), ifDead returns nil. If the lock cannot be tried,
// ifDead returns that error; it wraps fs.ErrNotExist if the claim has no file.
func (d Folder) ifDead(token string, f func(path string) error) error {
	path := filepath.Join(d.path, token)
	if !holds(path, d.processOf(token)) {
		return nil
	}
	// The lock is shared, so that two readers do not take each other for the owner.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err != nil || !free {
		return err
	}
	return fsx.RemoveHeld(lock, func() error { return f(path) })
}

// Live reports whether a process that has claimed the run is alive. A process that is stopped is alive, too. Where locks do not
// tell, a heartbeat within maxAge before now does.
func (d Folder) Live(now time.Time, maxAge time.Duration) bool {
	entries, _ := os.ReadDir(d.path)
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		seen, err := d.look(entry.Name())
		return isToken(entry.Name()) && err == nil && seen.locked && (!seen.vague || now.Sub(seen.beatAt) <= maxAge)
	})
}

// Clear removes the files of claims whose process is dead. oldToken is the token of a claim that was taken over,
// or "". Clear also removes the file of this claim, even if its process is alive. This process then learns that it
// has lost the run. A missing file is not an error, but a missing folder is an error.
func (d Folder) Clear(oldToken string) error {
	entries, err := os.ReadDir(d.path)
	for _, entry := range entries {
		token := entry.Name()
		if !isToken(token) {
			continue
		}
		remove := d.ifDead(token, os.Remove)
		if token == oldToken {
			remove = os.Remove(filepath.Join(d.path, token))
		}
		if remove != nil && !errors.Is(remove, fs.ErrNotExist) {
			err = errors.Join(err, remove)
		}
	}
	return err
}

// Remove removes the files of dead processes, and then the folder. If a live process has claimed the run, Remove
// keeps the folder. Errors are ignored.
func (d Folder) Remove() {
	if d.Clear("") == nil {
		_ = os.Remove(d.path) // the removal fails, as it should, if the folder has a claim
	}
}

// Leave unlocks the file and keeps the file. The caller calls Leave if the run's row still names this claim: the
// file then shows that the claim was made on this machine.
func (f *File) Leave() error { return f.lock.Close() }
