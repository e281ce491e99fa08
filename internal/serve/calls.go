package serve

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A client appends each call that needs no answer to a log that the server has made: an append takes a tenth of the time of a question
// through a pipe. The server does the calls of a log together, a moment later. Any other process of git-smithers does them when it opens
// the repository, and the server and its successors do them before they answer a question. docs/serve.md describes the file.

// callsFolder is a folder in the store's private folder. It has the logs, and a file that is locked while calls of a log are done.
const callsFolder = "calls"

// everyLog stands for the logs of all clients.
const everyLog = "*"

// durableSuffix ends the name of a log whose calls are acknowledged when they are on stable storage.
const durableSuffix = "-durable"

const (
	logSuffix = ".log"
	lockName  = "lock"
	magic     = "git-smithers calls 1"
)

// The head of a log: the offset up to which its calls are done, the checksum of the offset, the salt, and the magic text.
const (
	sumEnd   = 12
	saltEnd  = 16
	headSize = 64
)

const (
	recordHead = 8              // bytes of the length and the checksum before a call
	maxRecord  = 8 << 20        // bytes of a call in a log; a larger one goes through the pipe
	mostSteps  = 64             // calls that are done together
	mostBytes  = 4 << 20        // bytes of calls that are done together
	logKept    = 24 * time.Hour // how long a log without an end stays when nothing is added. A client that was idle for 10 minutes asks for another one
	lockWait   = 2 * time.Second
	lockRetry  = 2 * time.Millisecond
	blockedFor = 5 * time.Second // how long after a wait in vain nobody waits again
)

// Calls are the logs of calls of a repository. Calls is safe for concurrent use.
type Calls struct {
	threads *langgraph.Threads
	folder  string
	durable bool // what these logs' calls do is on stable storage

	mu      sync.Mutex
	open    map[string]*callLog // by name
	blocked time.Time           // when another process held the lock for too long; zero if it did not
}

// callsOf returns the logs of calls of the repository of threads.
func callsOf(threads *langgraph.Threads, durable bool) *Calls {
	return &Calls{
		threads: threads, folder: filepath.Join(threads.Store().Private(), callsFolder), durable: durable, open: make(map[string]*callLog),
	}
}

// PublishCalls does the calls that wait in the logs of a repository. A command does them before it reads or changes runs. The
// message of an error names the log whose calls still wait.
func PublishCalls(ctx context.Context, store *timeline.Store) error {
	folder := filepath.Join(store.Private(), callsFolder)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) == 0 {
		return nil
	}
	calls := callsOf(langgraph.Open(store), store.Settings().Fsync)
	defer calls.close()
	return calls.publish(ctx, everyLog, true)
}

// begin makes a log, or continues the one that the client has. It returns the log's place for the client, or nil if the client must ask each
// call: on Windows, on file systems that may be shared with other machines, in a repository that other users write, and where calls with
// secrets are refused.
func (c *Calls) begin(ctx context.Context, had string) (*logPlace, error) {
	store := c.threads.Store()
	set := store.Settings()
	if !fsx.IsLocal(store.Repo().CommonDir) || !set.CallLog || set.Secrets == vault.Refuse || refs.IsShared(store.Repo()) {
		return nil, nil
	}
	failed := c.publish(ctx, had, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.open[had]; l != nil {
		return l.place(), nil // if its calls cannot be done, the next question's error is about them
	}
	if failed != nil {
		return nil, failed
	}
	l, err := c.make()
	if err != nil {
		return nil, fmt.Errorf("make a log of calls: %w", err)
	}
	return l.place(), nil
}

// make makes an empty log.
func (c *Calls) make() (*callLog, error) {
	if err := os.MkdirAll(c.folder, 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return nil, err
	}
	var random [12]byte
	_, _ = rand.Read(random[:])
	name := hex.EncodeToString(random[:8])
	if c.durable {
		name += durableSuffix
	}
	l := &callLog{name: name, folder: c.folder, at: headSize, salt: binary.LittleEndian.Uint32(random[8:])}
	l.sum = l.salt
	file, err := os.OpenFile(l.path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the umask decides who may read the repository
	if err != nil {
		return nil, err
	}
	head := make([]byte, headSize)
	copy(head, markOf(headSize))
	binary.LittleEndian.PutUint32(head[sumEnd:], l.salt)
	copy(head[saltEnd:], magic)
	_, err = file.Write(head)
	if err == nil && c.durable {
		err = errors.Join(file.Sync(), fsx.SyncDir(c.folder))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(l.path()))
	}
	l.file, l.done = file, headSize
	c.open[l.name] = l
	return l, nil
}

// state returns the offset up to which the calls of a log are done, 0 if the log is gone, and the threads of which the client has not
// been told that they have changed.
func (c *Calls) state(name string) (done int64, late []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late = []string{}
	if l := c.open[name]; l != nil {
		done = l.done
		late = slices.AppendSeq(late, maps.Keys(l.late))
		l.late = nil
	}
	return done, late
}

// publish does the calls that wait in the logs. It returns the error about the log with the name own or, if all is true, about any log, and
// warns about others. It also returns an error about calls of the own log, or of every one for everyLog, that were refused and set aside.
func (c *Calls) publish(ctx context.Context, own string, all bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.threads.Store().Now()
	waiting, err := c.waiting(now)
	if err != nil || len(waiting) == 0 {
		return err
	}
	tell := func(name string, err error) error {
		if err == nil || all || name == own {
			return err
		}
		c.threads.Store().WarnOnce(err)
		return nil
	}
	lock := flock.New(filepath.Join(c.folder, lockName), flock.SetPermissions(0o666))
	defer lock.Close() //nolint:errcheck // nothing was written
	if err := c.lock(ctx, lock, now); err != nil {
		if l := c.open[own]; l != nil && slices.Contains(waiting, l) {
			return err
		}
		return tell("", err)
	}
	var errs []error
	for _, l := range waiting {
		err := l.publish(ctx, c.threads, c.durable)
		errs = append(errs, tell(l.name, leftIn(l.path(), err)))
		if own == everyLog || own == l.name {
			errs = append(errs, l.refusals())
		}
		if err == nil {
			l.sweep(now)
		}
	}
	return errors.Join(errs...)
}

// lock takes the lock of the logs. A process that was stopped while it had the lock makes calls fail: the first one waits, and those that
// follow soon do not.
func (c *Calls) lock(ctx context.Context, lock *flock.Flock, now time.Time) error {
	wait := lockWait
	if now.Sub(c.blocked) < blockedFor {
		wait = lockRetry
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, err := lock.TryLockContext(limited, lockRetry)
	if err == nil {
		c.blocked = time.Time{}
		return nil
	}
	c.blocked = now
	return fault.New(fault.Locked, "calls of a program wait in %s, and another process is about to do them: %w", c.folder, err)
}

// sync puts what is done of all logs on stable storage, before something is dropped that a call must not bring back after a power cut.
func (c *Calls) sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, l := range c.open {
		errs = append(errs, l.file.Sync())
	}
	return errors.Join(errs...)
}

// leftIn returns an error that also says where the calls are that could not be done.
func leftIn(path string, err error) error {
	if e, is := errors.AsType[*fault.Error](timeline.Explain(err)); is {
		told := *e
		told.Msg = fmt.Sprintf("calls of a program wait in %s: %s", path, e.Msg)
		return &told
	}
	if err != nil {
		return fmt.Errorf("calls of a program wait in %s: %w", path, err)
	}
	return nil
}

// waiting returns the logs that have calls which are not done, or are old.
func (c *Calls) waiting(now time.Time) ([]*callLog, error) {
	entries, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		c.threads.Store().WarnOnce(err) // another user's calls
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*callLog
	there := make(map[string]bool)
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), logSuffix)
		if !is || !entry.Type().IsRegular() {
			continue
		}
		l := c.open[name]
		if l == nil {
			l, err = openLog(c.folder, name)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoLog) {
				continue // it was removed, or is being made
			}
			if errors.Is(err, fs.ErrPermission) {
				c.threads.Store().WarnOnce(err)
				continue
			}
			if err != nil {
				return nil, err
			}
			c.open[name] = l
		}
		there[name] = true
		if l.isWaiting(now) {
			out = append(out, l)
		}
	}
	for name, l := range c.open {
		if !there[name] {
			_ = l.file.Close()
			delete(c.open, name)
		}
	}
	return out, nil
}

// leave does what waits in a client's log after the client has closed its stream.
func (c *Calls) leave(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	return c.publish(ctx, name, false)
}

// close closes the files of the logs.
func (c *Calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.open {
		_ = l.file.Close()
	}
	clear(c.open)
}
