package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// Patience is the time that the user's command has for one notice.
	Patience = 10 * time.Second
	// maxAge is the age of a notice that is not delivered any more: it is from before a restart of the machine.
	maxAge = time.Hour
	// maxOutput is the number of bytes of the command's output that are kept for the warning.
	maxOutput = 1 << 10
)

// Deliver runs the user's command for each notice in the queue, one after the other, and ends each after the time
// patience, with all its processes. If another process delivers already, that process also delivers the notices of this
// one, and Deliver returns at once. A failure of the command is kept for [WarnOfFailure].
func Deliver(ctx context.Context, s *timeline.Store, patience time.Duration) error {
	for {
		waiting, err := waitingNotices(s)
		if err != nil || len(waiting) == 0 {
			return err
		}
		mine, err := deliverQueue(ctx, s, patience)
		if err != nil || !mine {
			return err
		}
		// A notice that came after the last look, and before the lock was free, has started a process that has found the
		// lock held: look again.
	}
}

// deliverQueue delivers the notices in the queue. It returns false if another process does.
func deliverQueue(ctx context.Context, s *timeline.Store, patience time.Duration) (mine bool, err error) {
	held := flock.New(path(s, "delivering"), flock.SetPermissions(0o600))
	if mine, err = held.TryLock(); err != nil || !mine {
		return mine, errors.Join(err, held.Close())
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	line, _, err := command(ctx, s)
	if err != nil {
		return true, err
	}
	for ctx.Err() == nil {
		waiting, err := waitingNotices(s)
		if err != nil || len(waiting) == 0 {
			return true, err
		}
		if err := deliverFile(ctx, s, line, filepath.Join(s.InPlace(queued), waiting[0]), patience); err != nil {
			return true, err
		}
	}
	return true, ctx.Err()
}

// deliverFile runs the command line for the notice in a file of the queue. It removes the file first, so that the user
// is told at most once.
func deliverFile(ctx context.Context, s *timeline.Store, line, file string, patience time.Duration) error {
	data, err := os.ReadFile(file)
	if err = errors.Join(err, os.Remove(file)); err != nil {
		return err
	}
	var n Notice
	if json.Unmarshal(data, &n) != nil {
		return nil //nolint:nilerr // not a notice: the file is removed, and the others are delivered
	}
	if line == "" || s.Now().Sub(time.UnixMilli(n.AtMs)) > maxAge {
		return nil
	}
	failed := deliver(ctx, s, line, n, patience)
	if failed == nil {
		return nil
	}
	if data, err = json.Marshal(failure{n.RunID, n.Event, failed.Error()}); err != nil {
		return err
	}
	return write(data, path(s, failedFile))
}

// deliver runs the command line for one notice. The error says how the command has failed.
func deliver(ctx context.Context, s *timeline.Store, line string, n Notice, patience time.Duration) error {
	document, err := n.document()
	if err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", line) //nolint:gosec,noctx // the user's own setting; the group is ended below
	cmd.Env = slices.Concat(s.Env(), n.variables(), []string{nested + "=1"})
	if cmd.Dir = s.Workspace().Root; cmd.Dir == "" {
		cmd.Dir = s.Repo().CommonDir
	}
	ctx, over := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it was ended after %s", patience))
	defer over()
	said, err := runGroup(ctx, cmd, document)
	if text := strings.TrimSpace(string(said)); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, plain.OneLine(text))
	}
	return err
}

// runGroup runs a command as the leader of a process group of its own, with data on its standard input, and returns the
// beginning of what it prints. It returns when the command has ended and no process has its output open any more. When
// ctx ends, it kills the group, and the error is the cause of ctx's end.
func runGroup(ctx context.Context, cmd *exec.Cmd, data []byte) (said []byte, err error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // it was only read
	cmd.Stdout, cmd.Stderr = theirs, theirs
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, theirs.Close())
	}
	ownGroup(cmd)
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return nil, err
	}
	go func() {
		_, _ = in.Write(data) // a command need not read
		_ = in.Close()
	}()
	var printed bytes.Buffer
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.CopyN(&printed, out, maxOutput)
		_, _ = io.Copy(io.Discard, out)
	}()
	// The leader is not waited for before its group was killed, so that the group's id stays its own.
	select {
	case <-closed:
	case <-ctx.Done():
		killGroup(cmd.Process)
		_ = out.Close() // a process that has left the group may have it open
		<-closed
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done(): // it has closed its output, and goes on
		killGroup(cmd.Process)
		err = <-ended
	}
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	return printed.Bytes(), err
}
