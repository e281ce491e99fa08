package hooks

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

// Extra returns the setup of a file beside the hooks: a command or a skill. The file is in the working copy itself or, if the hooks are in the user's
// own settings, in the user's own folder of the agent.
func (s Setup) Extra(e dialect.Extra) Setup {
	s.Root = cmp.Or(s.Top, s.Root)
	if s.User != "" {
		agentDir := s.User
		for range strings.Split(s.Agent.Hooks.File, "/")[1:] {
			agentDir = filepath.Dir(agentDir)
		}
		_, rest, _ := strings.Cut(e.File, "/")
		s.User = filepath.Join(agentDir, filepath.FromSlash(rest))
	}
	s.Shared = false
	s.Agent = &dialect.Dialect{Name: s.Agent.Name, Hooks: &dialect.Hooks{File: e.File, Program: e.Text}}
	return s
}

// Extras returns the setups of the commands and of the skill of the agent beside its hooks. What the project shares has none.
func (s Setup) Extras(commands, skill bool) (all []Setup) {
	var extras []dialect.Extra
	if commands {
		extras = s.Agent.Commands()
	}
	if skill {
		extras = append(extras, s.Agent.Skill()...)
	}
	for _, extra := range extras {
		if !s.Shared {
			all = append(all, s.Extra(extra))
		}
	}
	return all
}

// ExtrasIn returns the setups of the commands and of the skill whose files are in one of the states.
func (s Setup) ExtrasIn(states ...State) []Setup {
	return slices.DeleteFunc(s.Extras(true, true), func(extra Setup) bool { return !slices.Contains(states, extra.State()) })
}

// ExtrasInPlace returns the setups of the commands and of the skill that are in files of ours.
func (s Setup) ExtrasInPlace() []Setup { return s.ExtrasIn(Current, Old) }

// A State is how the file of an extra stands.
type State int

// The states of a file.
const (
	Absent  State = iota
	Current       // as Enable writes it
	Old           // as an earlier version wrote it
	Edited        // ours, and somebody has edited it
	Foreign       // not ours
)

// State returns how the file of an extra stands.
func (s Setup) State() State {
	text, err := s.readProgram()
	switch former, undoErr := s.readUndo(); {
	case err == nil && text == nil:
		return Absent
	case err == nil && string(text) == s.Agent.Hooks.Program:
		return Current
	case err == nil && undoErr == nil && former.After == digest(text):
		return Old
	case err == nil && undoErr == nil:
		return Edited
	}
	return Foreign
}

// DisableExtras removes the files that Enable has written, and returns the removed files and the others. A clone may have the files by its commits: those
// are the project's. Folders that were made for any of the removed files are removed if they are empty.
func DisableExtras(all []Setup) (removed, left []Setup, err error) {
	var made []string
	for _, extra := range all {
		former, undoErr := extra.readUndo()
		if undoErr != nil {
			left = append(left, extra)
			continue
		}
		if _, err = extra.Disable(); err != nil {
			break
		}
		removed = append(removed, extra)
		for _, dir := range former.Made {
			made = append(made, filepath.Join(extra.Root, dir))
		}
	}
	slices.SortFunc(made, func(a, b string) int { return len(b) - len(a) }) // a folder comes after those in it
	for _, dir := range made {
		_ = os.Remove(dir) // a folder with other files stays
	}
	return removed, left, err
}
