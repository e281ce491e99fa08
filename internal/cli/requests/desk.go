package requests

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/desk/block"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// deskProgram is the program that has what needs a network library.
const deskProgram = "git-smithers-desk"

// Desk is a running git-smithers-desk, which this process talks to in blocks.
type Desk struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err *strings.Builder

	once  sync.Once
	ended error
}

// StartDesk starts git-smithers-desk, which is beside this program or on PATH. Code: view_missing if it is not.
func StartDesk(s *session.Session, args ...string) (*Desk, error) {
	path, err := findDesk()
	if err != nil {
		return nil, err
	}
	v := &Desk{cmd: exec.Command(path, args...), err: new(strings.Builder)} //nolint:gosec,noctx // our own program; it ends when its input does
	v.cmd.Dir, v.cmd.Env, v.cmd.Stderr = s.Dir, s.Env, v.err
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.out = bufio.NewReader(out)
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return v, v.cmd.Start()
}

// findDesk returns the path of git-smithers-desk.
func findDesk() (string, error) {
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			beside := filepath.Join(filepath.Dir(self), deskProgram)
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath(deskProgram)
	if err != nil {
		return "", fault.New(fault.ViewMissing, "there is no %s beside git-smithers or on PATH", deskProgram).
			Hint("`make install` and the releases of git-smithers have both programs: put %s beside git-smithers", deskProgram).
			Hint("`go install github.com/git-smithers/git-smithers/cmd/git-smithers-desk@latest` brings it to a git-smithers from `go install`")
	}
	return path, nil
}

// Read returns the next block that the program says. If the program has ended, the error is what it said about why.
func (v *Desk) Read() ([]byte, error) {
	text, err := block.Read(v.out)
	if err != nil {
		return nil, v.why()
	}
	return text, nil
}

// why waits for the end of the program, and returns why it has ended.
func (v *Desk) why() error {
	err := v.Close()
	if said := strings.TrimSpace(strings.TrimPrefix(v.err.String(), deskProgram+": ")); said != "" {
		return errors.New(said)
	}
	if err == nil {
		err = errors.New("it has ended")
	}
	return err
}

// Write sends a block to the program.
func (v *Desk) Write(text []byte) error { return block.Write(v.in, text) }

// Post has the program of a signal send a request. The error says why the collector does not have it.
func (v *Desk) Post(body []byte) error {
	if err := v.Write(body); err != nil {
		return err
	}
	why, err := v.Read()
	if err == nil && len(why) > 0 {
		err = errors.New(plain.Text(string(why)))
	}
	return err
}

// Hang tells the program to end, and does not wait for it: a Read that waits then returns an error.
func (v *Desk) Hang() { _ = v.in.Close() }

// Close ends the program and waits for it. It returns the same at each call.
func (v *Desk) Close() error {
	v.once.Do(func() {
		v.Hang()
		v.ended = v.cmd.Wait()
	})
	return v.ended
}
