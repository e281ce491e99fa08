package refs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// childLife is the number of transactions after which a new child replaces a child. git keeps every pack that it has
// used mapped into memory, even a deleted pack, so a child must not run for ever.
const childLife = 500

// answerTime is how long a new child may take for its first answer. A git before 2.34 keeps its answers until its input ends.
const answerTime = 30 * time.Second

// child is a running git update-ref --stdin. It makes transactions until its input ends. It exits at the
// first transaction that it refuses.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer // read only after the child has ended
	cancel context.CancelFunc
	used   int           // number of transactions
	wait   time.Duration // for the first answer
}

// startChild starts git with args and returns the child. If ctx ends, the child keeps running. Every error is a
// *gitexec.Error.
func startChild(ctx context.Context, git *gitexec.Git, args []string) (*child, error) {
	// The child outlives the transaction that started it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &child{cancel: cancel, wait: answerTime}
	if err := c.start(ctx, git, args); err != nil {
		cancel()
		return nil, &gitexec.Error{Args: []string{"update-ref"}, Status: -1, Err: err}
	}
	return c, nil
}

// start starts git with pipes for its input and output. ctx ends the process.
func (c *child) start(ctx context.Context, git *gitexec.Git, args []string) error {
	var err error
	if c.cmd, err = git.Command(ctx, args...); err != nil {
		return err
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	c.out = bufio.NewReader(out)
	c.cmd.Stderr = &c.stderr
	return c.cmd.Start()
}

// transact makes the updates in one transaction of git. When git has locked all refs, transact calls prepared. If
// prepared returns an error, transact aborts the transaction and returns this error. If git refuses the transaction or
// dies, the error is a *childError, and the child has ended. If ctx ends, the child ends too.
func (c *child) transact(ctx context.Context, updates []Update, prepared func() error) error {
	c.used++
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	var b strings.Builder
	b.WriteString("start\n")
	for _, u := range updates {
		switch {
		case u.Old.IsZero():
			fmt.Fprintf(&b, "create %s %v\n", u.Name, u.New)
		case u.New.IsZero():
			fmt.Fprintf(&b, "delete %s %v\n", u.Name, u.Old)
		default:
			fmt.Fprintf(&b, "update %s %v %v\n", u.Name, u.New, u.Old)
		}
	}
	b.WriteString("prepare\n")
	late := time.AfterFunc(c.wait, c.cancel)
	err := c.exchange(b.String(), "start: ok")
	if !late.Stop() && err != nil && ctx.Err() == nil {
		_ = c.end() // it was killed
		return &childError{git: &gitexec.Error{Args: []string{"update-ref"}, Stderr: "no answer to \"start\"", Err: gitexec.ErrGitTooOld}}
	}
	if err == nil {
		err = c.exchange("", "prepare: ok")
	}
	if err != nil {
		return c.fail(false, err)
	}
	if refusal := prepared(); refusal != nil {
		if err := c.exchange("abort\n", "abort: ok"); err != nil {
			return c.fail(false, err)
		}
		return refusal
	}
	if err := c.exchange("commit\n", "commit: ok"); err != nil {
		return c.fail(true, err)
	}
	return nil
}

// exchange writes commands to git and reads one line for each of answers. It returns an error if a line differs from
// its answer.
func (c *child) exchange(commands string, answers ...string) error {
	if _, err := io.WriteString(c.in, commands); err != nil {
		return err
	}
	for _, want := range answers {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return err
		}
		if got := strings.TrimSuffix(line, "\n"); got != want {
			return fmt.Errorf("unexpected answer %q, expected %q", got, want)
		}
	}
	return nil
}

// fail ends the child and returns a *childError with git's message. prepared is true if git may already have moved
// some refs, because it had locked all of them. The error has git's exit as its cause or, if git exited without an
// error, cause.
func (c *child) fail(prepared bool, cause error) error {
	if err := c.end(); err != nil {
		cause = err
	}
	return &childError{prepared, gitexec.NewError([]string{"update-ref"}, c.cmd.ProcessState, c.stderr.String(), cause)}
}

// end closes the child's input, so that the child exits, and waits for the exit. git then aborts an open
// transaction.
func (c *child) end() error {
	defer c.cancel()
	closeErr := c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return err
	}
	return closeErr
}
