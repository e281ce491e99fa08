package objstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxAlternateDepth is the largest number of steps from alternate to alternate. It is git's own
// limit.
const maxAlternateDepth = 5

// Alternates returns the object directories from which dir borrows objects, directly or indirectly, up to
// maxAlternateDepth steps away. The result has no duplicates, and has the order in which the info/alternates files name
// the directories. like git, Alternates skips a missing directory, because another directory may have the objects.
func Alternates(dir string) ([]string, error) {
	var dirs []string
	seen := map[string]bool{filepath.Clean(dir): true}
	var follow func(dir string, depth int) error
	follow = func(dir string, depth int) error {
		text, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			path := alternatePath(dir, strings.TrimSuffix(line, "\n"))
			if path == "" || seen[path] {
				continue
			}
			// A directory that two files name, or a cycle of directories, is followed only once.
			seen[path] = true
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				continue
			}
			dirs = append(dirs, path)
			if depth < maxAlternateDepth {
				if err := follow(path, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return dirs, follow(dir, 1)
}

// alternatePath returns the path in line, a line of dir's info/alternates. For an empty line or a comment, it
// returns "". In the line, a path may be quoted as in C, and may be relative to dir.
func alternatePath(dir, line string) string {
	if line == "" || strings.HasPrefix(line, "#") {
		return ""
	}
	if strings.HasPrefix(line, `"`) {
		if unquoted, err := strconv.Unquote(line); err == nil {
			line = unquoted
		}
	}
	if !filepath.IsAbs(line) {
		line = filepath.Join(dir, line)
	}
	return filepath.Clean(line)
}
