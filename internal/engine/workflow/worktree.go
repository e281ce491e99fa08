package workflow

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/refs"
)

// Worktree is a worktree that a workflow or a task asks for. Path and Branch may
// have placeholders.
type Worktree struct {
	Path   string // absolute, or relative to the top of the working copy; "" means an automatic path
	Branch string // "" if the worktree has no branch of its own
	Base   string // the revision at which the worktree starts; "" means main
	Setup  string // the command that sets a new worktree up; "" means the user's own
}

// Placeholders in a worktree's path and branch.
const (
	runPlaceholder  = "{run}"
	taskPlaceholder = "{task}"
)

var placeholder = lazyregexp.New(`\{[^{}]*\}`)

// worktree returns the worktree that the node n describes, or nil after a flaw. n is true, or a mapping with the
// optional keys path, branch, base and setup. task is the id of the task that asks for the worktree, or "" if the workflow
// asks.
func (p *parser) worktree(n *yaml.Node, task string) *Worktree {
	if n = p.follow(n); n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() != "!!bool" || n.Value != "true" {
			p.fail(n, `for example worktree: true, or worktree: {branch: "fix-{run}"}`,
				"worktree must be true or a mapping with path, branch, base, setup, not %s", kindName(n))
			return nil
		}
		return p.taken(n, &Worktree{}, task)
	}
	w := &Worktree{}
	p.object(n, "worktree", keys{
		{"path", func(n *yaml.Node) {
			w.Path = p.text(n, "path")
			p.checkPath(n, w.Path, task)
		}},
		{"branch", func(n *yaml.Node) {
			w.Branch = p.text(n, "branch")
			p.checkPlaceholders(n, "branch", w.Branch, task)
			p.checkBranch(n, w.expand(w.Branch, "run", "task"))
		}},
		{"base", func(n *yaml.Node) {
			w.Base = p.text(n, "base")
			p.checkBase(n, w.Base)
		}},
		{"setup", func(n *yaml.Node) { w.Setup = p.text(n, "setup") }},
	})
	return p.taken(n, w, task)
}

// taken records the path and the branch of w, with {task} replaced by task, and returns w. If another worktree of the
// file has the same path or branch, taken reports a flaw. After any flaw, taken returns nil. n is the node of w. task
// is the task's id, or "".
func (p *parser) taken(n *yaml.Node, w *Worktree, task string) *Worktree {
	for _, name := range []struct{ what, value string }{{"path", w.Path}, {"branch", w.Branch}} {
		if name.value == "" {
			continue
		}
		key := name.what + " " + strings.ReplaceAll(name.value, taskPlaceholder, task)
		if line := p.worktrees[key]; line > 0 {
			p.fail(n, "add {task}, which is replaced by the task's id",
				"the worktree of line %d already has the %s %q", line, name.what, name.value)
		}
		p.worktrees[key] = n.Line
	}
	if p.err != nil {
		return nil
	}
	return w
}

// checkPlaceholders reports an unknown placeholder in text. at is the node of text. {task} is known only if task, the
// task's id, is not "". what names the text in messages.
func (p *values) checkPlaceholders(at *yaml.Node, what, text, task string) {
	known := []string{runPlaceholder, taskPlaceholder}
	if task == "" {
		known = known[:1]
	}
	for _, found := range placeholder.FindAllString(text, -1) {
		if found == runPlaceholder || found == taskPlaceholder && task != "" {
			continue
		}
		p.fail(at, suggest(found, known), "%s has the unknown placeholder %s", what, found)
	}
}

// checkPath reports unknown placeholders and control characters in a worktree's path. at is the path's node. task is
// the task's id, or "".
func (p *values) checkPath(at *yaml.Node, path, task string) {
	p.checkPlaceholders(at, "path", path, task)
	if p.err == nil && strings.ContainsFunc(path, isControl) {
		p.fail(at, "", "path has a control character")
	}
}

// branchPattern matches invalid branch names, and names that look like options.
var branchPattern = lazyregexp.New(`^[-/.@]$|^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|/\.|@\{|\.lock(/|$)|[/.]$`)

// checkBranch reports a branch that is not a valid branch name. The caller has replaced each placeholder by a sample
// text.
func (p *values) checkBranch(at *yaml.Node, branch string) {
	if p.err == nil && branchPattern.MatchString(branch) { // the pattern matches invalid names
		p.fail(at, "`git help check-ref-format` lists the rules", "branch %q cannot be the name of a branch", branch)
	}
}

// gitBraces matches git's own forms with braces, such as in main@{1} and v1^{}.
var gitBraces = lazyregexp.New(`[@^]\{[^{}]*\}`)

// checkBase reports a base that looks like an option, or that has a control character or a placeholder.
func (p *values) checkBase(at *yaml.Node, base string) {
	switch {
	case p.err != nil:
	case strings.HasPrefix(base, "-") || strings.ContainsFunc(base, isControl):
		p.fail(at, "name a branch, a tag or a commit, for example main", "base %q is not a revision", base)
	case placeholder.MatchString(gitBraces.ReplaceAllString(base, "")):
		p.fail(at, "remove the placeholder: only path and branch can have placeholders", "base %q is not a revision", base)
	}
}

// isControl reports whether r is an ASCII control character.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// AsksForWorktrees reports whether the workflow or one of its tasks asks for a worktree.
func (w *Workflow) AsksForWorktrees() bool {
	if w.Worktree != nil {
		return true
	}
	for _, t := range w.Tasks {
		if t.Worktree != nil {
			return true
		}
	}
	return false
}

// OwnWorktree returns the spec of the worktree that the tasks of a run share, and true. run is the run's id. If the
// workflow asks for no such worktree, OwnWorktree returns the zero spec and false.
func (w *Workflow) OwnWorktree(run string) (files.WorktreeSpec, bool) {
	if w.Worktree == nil {
		return files.WorktreeSpec{}, false
	}
	return w.Worktree.Spec(run, ""), true
}

// Spec returns the spec of w for a run, with filled placeholders. run is the run's id. task is the id of the
// worktree's task, or "" for the worktree that tasks share.
func (w *Worktree) Spec(run, task string) files.WorktreeSpec {
	return files.WorktreeSpec{Name: task, Path: w.expand(w.Path, run, task), Branch: w.expand(w.Branch, run, task), Base: w.Base, Setup: w.Setup}
}

// expand returns text with {run} replaced by the run's id and {task} by the task's id. It escapes the run's id as ref
// names do. In a fetched run the id may be any text, and must not lead a path out of its folder.
func (w *Worktree) expand(text, run, task string) string {
	escaped, err := refs.EscapeRun(run)
	if err != nil { // an empty id, which no run has
		escaped = ""
	}
	return strings.NewReplacer(runPlaceholder, escaped, taskPlaceholder, task).Replace(text)
}
