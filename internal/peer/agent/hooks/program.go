package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// programEvents is what InPlace returns of an agent that loads a program: the program sees all events.
var programEvents = []string{"all"}

// readProgram returns the text of the program, or nil if there is no file. The error is invalid_input if the file is not ours.
func (s Setup) readProgram() ([]byte, error) {
	text, err := os.ReadFile(s.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.InvalidInput, "the program for %s: %w", s.Agent.Name, err)
	case !bytes.Contains(text, []byte(programMark)):
		return nil, fault.New(fault.InvalidInput, "%s is not of git-smithers", filepath.ToSlash(s.File())).
			Hint("move the file; it was not changed")
	}
	return text, nil
}

// programMark is in each program of ours.
const programMark = "git smithers session"

// programInPlace is InPlace for a program. A file that is not ours is no hook.
func (s Setup) programInPlace() (have, want []string, err error) {
	if text, err := s.readProgram(); err == nil && text != nil {
		return programEvents, programEvents, nil
	}
	return nil, programEvents, nil
}

// enableProgram is Enable for a program. It replaces the program of another version.
func (s Setup) enableProgram() (bool, error) {
	before, err := s.readProgram()
	if err != nil || string(before) == s.Agent.Hooks.Program {
		return false, err
	}
	return true, s.write(before, []byte(s.Agent.Hooks.Program))
}

// disableProgram is Disable for a program. Somebody may have edited the program: then it is not removed.
func (s Setup) disableProgram() (bool, error) {
	now, err := s.readProgram()
	if err != nil || now == nil {
		return false, err
	}
	if former, err := s.readUndo(); err == nil && former.After == digest(now) {
		return true, errors.Join(s.restore(former), s.forget())
	}
	if string(now) != s.Agent.Hooks.Program {
		return false, fault.New(fault.InvalidInput, "somebody has edited %s", filepath.ToSlash(s.File())).Hint("remove the file yourself")
	}
	if err := os.Remove(s.path()); err != nil {
		return false, fmt.Errorf("remove the program for %s: %w", s.Agent.Name, err)
	}
	return true, errors.Join(s.forget(), s.include())
}
