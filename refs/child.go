package refs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// childLife is the number of transactions after which a child is replaced: git keeps every pack
// that it has used mapped, even deleted ones.
const childLife = 500

// child is a running git update-ref --stdin. It makes transactions until its input ends, and
// exits at the first transaction that it refuses.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer // read only after the child has ended
	cancel context.CancelFunc
	used   int // number of transactions
}

func startChild(ctx context.Context, git *gitexec.Git, args []string) (*child, error) {
	// The child outlives the transaction that started it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &child{cancel: cancel}
	if err := c.start(ctx, git, args); err != nil {
		cancel()
		return nil, &gitexec.Error{Args: []string{"update-ref"}, Status: -1, Err: err}
	}
	return c, nil
}

// start starts git with pipes for its input and output.
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

// transact makes one transaction. It calls prepared once git has locked all refs; an
// error of prepared aborts the transaction. After a *childError the child has ended.
// The end of ctx ends the child, too.
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
	if err := c.exchange(b.String(), "start: ok", "prepare: ok"); err != nil {
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

// exchange writes commands and checks git's answers.
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

// fail ends the child and returns an error with git's message.
func (c *child) fail(prepared bool, cause error) error {
	if err := c.end(); err != nil {
		cause = err
	}
	return &childError{prepared, gitexec.NewError([]string{"update-ref"}, c.cmd.ProcessState, c.stderr.String(), cause)}
}

// end closes the child's input, so that it exits, and waits for it. An open transaction is
// aborted.
func (c *child) end() error {
	defer c.cancel()
	closeErr := c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return err
	}
	return closeErr
}
