package workflow

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// Worktree is a worktree that a workflow or a task asks for. Path and Branch may
// have placeholders.
type Worktree struct {
	Path   string // relative to the top of the working copy, or absolute; "" means automatic
	Branch string // "" if none
	Base   string // the revision to start from; "" means main
}

// Placeholders in a worktree's path and branch.
const (
	runPlaceholder  = "{run}"
	taskPlaceholder = "{task}"
)

var (
	worktreeKeys = []string{"path", "branch", "base"}
	placeholder  = regexp.MustCompile(`\{[^{}]*\}`)
)

// worktree reads a worktree: true, or a mapping. task is the task's id, "" for the workflow's own.
func (p *parser) worktree(n *yaml.Node, task string) *Worktree {
	if n = p.follow(n); n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() != "!!bool" || n.Value != "true" {
			p.fail(n, `for example worktree: true, or worktree: {branch: "fix-{run}"}`,
				"worktree must be true or a mapping with %s, not %s", strings.Join(worktreeKeys, ", "), kindName(n))
			return nil
		}
		return p.taken(n, &Worktree{}, task)
	}
	_, fields := p.mapping(n, "worktree", worktreeKeys)
	if p.err != nil {
		return nil
	}
	w := &Worktree{}
	if at := fields["path"]; at != nil {
		w.Path = p.text(at, "path")
		p.checkPath(at, w.Path, task)
	}
	if at := fields["branch"]; at != nil {
		w.Branch = p.text(at, "branch")
		p.checkPlaceholders(at, "branch", w.Branch, task)
		p.checkBranch(at, w.expand(w.Branch, "run", "task"))
	}
	if at := fields["base"]; at != nil {
		w.Base = p.text(at, "base")
		p.checkBase(at, w.Base)
	}
	return p.taken(n, w, task)
}

// taken reports a flaw if another worktree of the file has the same path or branch.
func (p *parser) taken(n *yaml.Node, w *Worktree, task string) *Worktree {
	for _, name := range []struct{ what, value string }{{"path", w.Path}, {"branch", w.Branch}} {
		if name.value == "" {
			continue
		}
		key := name.what + " " + strings.ReplaceAll(name.value, taskPlaceholder, task)
		if line := p.worktrees[key]; line > 0 {
			p.fail(n, "{task} in it stands for the task's id",
				"the worktree of line %d has the %s %q already", line, name.what, name.value)
		}
		p.worktrees[key] = n.Line
	}
	if p.err != nil {
		return nil
	}
	return w
}

// checkPlaceholders reports unknown placeholders. {task} is known only in a task's own worktree.
func (p *parser) checkPlaceholders(at *yaml.Node, what, text, task string) {
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

func (p *parser) checkPath(at *yaml.Node, path, task string) {
	p.checkPlaceholders(at, "path", path, task)
	if p.err == nil && strings.ContainsFunc(path, isControl) {
		p.fail(at, "", "path has a control character")
	}
}

// branchPattern matches invalid branch names, and names that look like options.
var branchPattern = regexp.MustCompile(`^[-/.@]$|^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|/\.|@\{|\.lock(/|$)|[/.]$`)

// checkBranch checks the name of a branch, with a sample text for each placeholder.
func (p *parser) checkBranch(at *yaml.Node, branch string) {
	if p.err == nil && branchPattern.MatchString(branch) {
		p.fail(at, "`git help check-ref-format` says what is allowed", "branch %q cannot be the name of a branch", branch)
	}
}

func (p *parser) checkBase(at *yaml.Node, base string) {
	switch {
	case p.err != nil:
	case strings.HasPrefix(base, "-") || strings.ContainsFunc(base, isControl):
		p.fail(at, "a branch, a tag or a commit, for example main", "base %q is not a revision", base)
	case placeholder.MatchString(base) && !strings.Contains(base, "@{") && !strings.Contains(base, "^{"):
		p.fail(at, "placeholders are for path and branch", "base %q is not a revision", base)
	}
}

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

// OwnWorktree returns the worktree that the run's tasks share; false if the workflow asks for none.
func (w *Workflow) OwnWorktree(run string) (code.WorktreeSpec, bool) {
	if w.Worktree == nil {
		return code.WorktreeSpec{}, false
	}
	return w.Worktree.Spec(run, ""), true
}

// Spec returns the worktree for a run. task is the task's id, "" for the workflow's own.
func (w *Worktree) Spec(run, task string) code.WorktreeSpec {
	return code.WorktreeSpec{Name: task, Path: w.expand(w.Path, run, task), Branch: w.expand(w.Branch, run, task), Base: w.Base}
}

// expand fills in the placeholders. A run's id is escaped as in ref names, because it may be any
// text of a foreign repository and must not lead out of the folder.
func (w *Worktree) expand(text, run, task string) string {
	escaped, err := refs.EscapeRun(run)
	if err != nil { // no run has an empty id
		escaped = ""
	}
	return strings.NewReplacer(runPlaceholder, escaped, taskPlaceholder, task).Replace(text)
}
