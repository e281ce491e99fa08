package workflow

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// strictName is the name, after a bundleMark, that ends a definition whose commands run under sh -e. A definition without it was stored by a
// version that ran them under sh, and keeps this rule: a failing line in the middle of a command passes. No called file has such a path.
const strictName = "//sh -e"

// scriptPlace stands for the file with the command in a shell of the user's own.
const scriptPlace = "{0}"

// shells has the shells with a name, and how each runs a command, which is the last argument.
var shells = map[string]string{"sh": "sh -e -c", "bash": "bash -eo pipefail -c"}

// Shell runs the command of a task.
type Shell struct {
	Name   string // "" for sh, a name of shells, or a command with scriptPlace
	strict bool   // sh ends at the first failing line
}

// line returns the line for sh -c that runs a command.
func (s Shell) line(run string) string {
	switch {
	case s.Name == "" && s.strict && stopsEarlier(run):
		return "set -e; " + run // on the first line, so that the shell's messages count the lines as the file does
	case s.Name == "":
		return run
	case shells[s.Name] != "":
		return "exec " + shells[s.Name] + " " + quote(run)
	}
	// exit, so that the shell removes the file when the group gets TERM
	return `f=$(mktemp) || exit; trap 'rm -f "$f"' 0; trap 'exit 143' 15; printf '%s\n' ` + quote(run) + ` >"$f" || exit; ` +
		strings.ReplaceAll(s.Name, scriptPlace, `"$f"`)
}

// GoesOn reports whether sh runs the command's further lines after one that fails, as it did when the definition was stored.
func (s Shell) GoesOn(run string) bool { return s.Name == "" && !s.strict && stopsEarlier(run) }

// quote returns text as one word of sh.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// stopsEarlier reports whether a command may have several commands one after the other, of which sh -e ends at the first that fails.
func stopsEarlier(run string) bool {
	run = strings.Trim(run, "\n\t ;")
	return strings.ContainsAny(run, "\n;") && !strings.HasPrefix(run, "set -e") && !strings.HasPrefix(run, "set +e")
}

// shell reads the key shell.
func (p *values) shell(n *yaml.Node) Shell {
	name := p.text(n, "shell")
	if p.err == nil && shells[name] == "" && !strings.Contains(name, scriptPlace) {
		p.fail(n, `write sh, bash, or a command for a file with the text under run: "python3 {0}"`, "%q is not a shell", name)
	}
	return Shell{Name: name}
}

// cwd reads the key cwd: a folder in the working copy.
func (p *values) cwd(n *yaml.Node) string {
	dir := p.text(n, "cwd")
	clean := path.Clean(dir)
	if p.err == nil && (path.IsAbs(dir) || clean == ".." || strings.HasPrefix(clean, "../") || plain.Text(dir) != dir) {
		p.fail(n, "name a folder from the top of the working copy, such as cwd: packages/api", "%q is not a folder in the working copy", dir)
	}
	if clean == "." {
		return ""
	}
	return clean
}

// ShellLine returns the line for sh -c that runs the task's command.
func (t *Task) ShellLine() string {
	line := t.Shell.line(t.Run)
	if t.Cwd != "" {
		line = "cd -- " + quote("./"+t.Cwd) + " || exit; " + line
	}
	return line
}

// CacheLine returns what stands for the command in the key of the cache. The rule of sh is not in it: what finished under sh alone is still used.
func (t *Task) CacheLine() string {
	if t.Shell.Name == "" && t.Cwd == "" {
		return t.Run
	}
	return t.ShellLine()
}

// ShellLine returns the line for sh -c that runs the scorer.
func (s *Scorer) ShellLine() string { return Shell{strict: s.strict}.line(s.Run) }

// Stricter is a task whose command ends at a failing line that it passed in versions that ran it under sh.
type Stricter struct {
	NodeID string `json:"nodeId"` // of a task with a matrix, the task as written
	Line   int    `json:"line"`   // of the task in the file
}

// Stricter returns the tasks whose commands mean something else since they run under sh -e, in file order.
func (w *Workflow) Stricter() []Stricter {
	var out []Stricter
	for _, t := range w.Tasks {
		one := Stricter{cmp.Or(t.CellOf, t.ID), t.line}
		if t.Shell.Name == "" && stopsEarlier(t.Run) && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// marksStrict reports whether the rule of w changes what one of its commands means.
func (w *Workflow) marksStrict() bool {
	for _, t := range w.Tasks {
		if t.Shell.line(t.Run) != t.Run && t.Shell.Name == "" {
			return true
		}
		for _, s := range t.Scorers {
			if s.ShellLine() != s.Run {
				return true
			}
		}
		if t.Call != nil && t.Call.Workflow.marksStrict() {
			return true
		}
	}
	return false
}

// AsStored returns w with the rule of the definition with the given hash, if the definition is of the same files. Otherwise it returns w. So a run
// goes on under the rule with which it began.
func (w *Workflow) AsStored(hash string) *Workflow {
	mark := []byte(bundleMark + strictName + "\n")
	if w == nil || w.Snapshot().Hash() == hash || !bytes.HasSuffix(w.definition, mark) {
		return w
	}
	file := bytes.TrimSuffix(w.definition, mark)
	for _, text := range [][]byte{file, bytes.TrimSuffix(file, []byte("\n"))} { // a line feed before the mark may be bundle's
		if before, err := Stored("", text); err == nil && before.Snapshot().Hash() == hash {
			return before
		}
	}
	return w
}
