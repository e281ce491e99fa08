package hooks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// excludeMark stands above the lines of ours in git's info/exclude.
const excludeMark = "# hooks of git smithers, for this clone alone"

// excludeFile returns the path of git's list of files that this clone alone ignores.
func (s Setup) excludeFile() string { return filepath.Join(s.GitDir, "info", "exclude") }

// exclude keeps the user's own settings out of git status and git add, if Enable has made them. Those that a project shares are to be committed.
func (s Setup) exclude() error {
	if s.Shared || s.GitDir == "" {
		return nil
	}
	return s.editExclude(func(lines []string) []string {
		if slices.Contains(lines, s.excludeLine()) {
			return lines
		}
		at := slices.Index(lines, excludeMark)
		if at < 0 {
			lines = append(lines, excludeMark)
			at = len(lines) - 1
		}
		return slices.Insert(lines, at+1, s.excludeLine())
	})
}

// include takes back what exclude did.
func (s Setup) include() error {
	if s.Shared || s.GitDir == "" {
		return nil
	}
	return s.editExclude(func(lines []string) []string {
		mark := slices.Index(lines, excludeMark)
		if mark < 0 {
			return lines
		}
		end := mark + 1
		for end < len(lines) && strings.HasPrefix(lines[end], "/.") {
			end++
		}
		ours := slices.DeleteFunc(slices.Clone(lines[mark+1:end]), func(line string) bool { return line == s.excludeLine() })
		if len(ours) > 0 {
			ours = append([]string{excludeMark}, ours...)
		}
		return slices.Concat(lines[:mark], ours, lines[end:])
	})
}

// excludeLine returns the pattern for the settings.
func (s Setup) excludeLine() string { return "/" + filepath.ToSlash(s.File()) }

// editExclude changes the lines of git's info/exclude.
func (s Setup) editExclude(edit func([]string) []string) error {
	text, err := os.ReadFile(s.excludeFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.WriteFailed, "%w", err)
	}
	var lines []string
	if len(text) > 0 {
		lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	after := edit(slices.Clone(lines))
	if slices.Equal(lines, after) {
		return nil
	}
	out := strings.Join(after, "\n")
	if out != "" {
		out += "\n"
	}
	if err := fsx.Replace(s.excludeFile(), []byte(out), 0o644); err != nil {
		return fault.New(fault.WriteFailed, "%w", err)
	}
	return nil
}
