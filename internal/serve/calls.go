package serve

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A client notes a call that needs no answer in a log, which the server has made: to append to a file takes a tenth of the time of a
// question through a pipe. The server does the calls of a log together, a moment later. Any other process of git-smithers that opens
// the repository does so first, and so do the server and its successors before they answer a call. docs/serve.md describes the file.

// callsFolder is a folder in the store's private folder. It has the logs, and a file that is locked while calls of a log are done.
const callsFolder = "calls"

// everyLog stands for the logs of all clients.
const everyLog = "*"

const (
	logSuffix = ".log"
	lockName  = "lock"
	magic     = "git-smithers calls 1"
)

// The head of a log: the offset up to which its calls are done, the checksum of the offset, the salt, and the magic text.
const (
	offsetEnd = 8
	sumEnd    = 12
	saltEnd   = 16
	headSize  = 64
)

const (
	recordHead = 8              // bytes of the length and the checksum before a call
	maxRecord  = 8 << 20        // bytes of a call in a log; a larger one goes through the pipe
	mostSteps  = 64             // calls that are done together
	mostBytes  = 4 << 20        // bytes of calls that are done together
	logKept    = 24 * time.Hour // how long a log stays when nothing is added. A client that was idle for 10 minutes asks for another one
	lockWait   = 2 * time.Second
	lockRetry  = 2 * time.Millisecond
)

// Calls are the logs of calls of a repository. Calls is safe for concurrent use.
type Calls struct {
	threads *langgraph.Threads
	folder  string
	durable bool

	mu   sync.Mutex
	open map[string]*callLog // by name
}

// callsOf returns the logs of calls of the repository of threads.
func callsOf(threads *langgraph.Threads, durable bool) *Calls {
	return &Calls{
		threads: threads, folder: filepath.Join(threads.Store().Private(), callsFolder), durable: durable, open: make(map[string]*callLog),
	}
}

// PublishCalls does the calls that wait in the logs of a repository. A command does so before it looks at runs or changes them. An error
// says which calls wait.
func PublishCalls(ctx context.Context, store *timeline.Store) error {
	folder := filepath.Join(store.Private(), callsFolder)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) == 0 {
		return nil
	}
	calls := callsOf(langgraph.Open(store), false)
	defer calls.close()
	return calls.publish(ctx, everyLog)
}

// begin makes a log, or goes on with one that the client has. The result is the log's place for the client; nil where there are no
// logs: on file systems that are not known to belong to this machine alone, and on Windows.
func (c *Calls) begin(ctx context.Context, had string) (*logPlace, error) {
	store := c.threads.Store()
	if !fsx.IsLocal(store.Repo().CommonDir) || !store.Settings().CallLog {
		return nil, nil
	}
	failed := c.publish(ctx, had)
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.open[had]; l != nil {
		return l.place(), nil // the next call says why its calls cannot be done
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
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, err
	}
	var random [12]byte
	_, _ = rand.Read(random[:])
	l := &callLog{name: hex.EncodeToString(random[:8]), folder: c.folder, at: headSize, salt: binary.LittleEndian.Uint32(random[8:])}
	l.sum = l.salt
	file, err := os.OpenFile(l.path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
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

// publish does the calls that wait in the logs. It returns the error about the log with the name own, or about any for everyLog, and
// warns about others.
func (c *Calls) publish(ctx context.Context, own string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.threads.Store().Now()
	waiting, err := c.waiting(now)
	if err != nil || len(waiting) == 0 {
		return err
	}
	tell := func(name string, err error) error {
		if err == nil || own == everyLog || name == own {
			return err
		}
		c.threads.Store().WarnOnce(err)
		return nil
	}
	lock := flock.New(filepath.Join(c.folder, lockName), flock.SetPermissions(0o600))
	defer lock.Close() //nolint:errcheck // nothing was written
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if _, err := lock.TryLockContext(limited, lockRetry); err != nil {
		err = fmt.Errorf("calls of a program wait in %s, and another process is about to do them: %w", c.folder, err)
		if c.open[own] == nil || !slices.Contains(waiting, c.open[own]) {
			return tell("", err)
		}
		return err
	}
	var errs []error
	for _, l := range waiting {
		errs = append(errs, tell(l.name, leftIn(l.path(), l.publish(ctx, c.threads))))
		l.sweep(now)
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
			if l, err = openLog(c.folder, name); err != nil {
				continue // it was removed, or is being made
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

// leave does what waits in a client's log after the client has closed its stream, and removes the log if the client has ended, which gone
// reports.
func (c *Calls) leave(ctx context.Context, name string, gone func() bool) error {
	if name == "" {
		return nil
	}
	err := c.publish(ctx, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.open[name]
	if l == nil {
		return err
	}
	const tries = 20
	for try := 0; err == nil && gone != nil && try < tries; try++ {
		if gone() {
			return l.remove()
		}
		_ = timeline.Pause(ctx, 1) // a process closes its files before it ends
	}
	return err
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
