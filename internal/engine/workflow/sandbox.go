package workflow

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
)

// sandboxHint shows how a sandbox is written.
const sandboxHint = "for example sandbox: true, or sandbox: {network: on, write: [.git], env: [API_KEY], memory: 2g}"

// sandbox reads the key sandbox of a task or of the workflow: true, false, or a mapping. The result is nil for false.
func (p *values) sandbox(n *yaml.Node) *sandbox.Spec {
	s := &sandbox.Spec{}
	if !p.switched(n, "sandbox", sandboxHint, keys{
		{"network", func(n *yaml.Node) { s.Network = p.isOn(n) }},
		{"write", func(n *yaml.Node) { s.Write = p.sandboxPaths(n, "write") }},
		{"read", func(n *yaml.Node) { s.Read = p.sandboxPaths(n, "read") }},
		{"env", func(n *yaml.Node) {
			s.Env = p.texts(n, "env", "a variable", "variables", maxSandboxPaths, func(at *yaml.Node, name string) {
				if !envName.MatchString(name) {
					p.fail(at, "", "%q is not the name of an environment variable", name)
				}
			})
			slices.Sort(s.Env)
		}},
		{"memory", func(n *yaml.Node) { s.Memory = p.size(n, "memory") }},
		{"processes", func(n *yaml.Node) { s.Processes = p.integer(n, "processes", 1, 1_000_000) }},
		{"cpu", func(n *yaml.Node) {
			s.CPU = p.number(n, "cpu", "write the number of processors, such as cpu: 1.5", 0.01, 10_000)
		}},
	}) {
		return nil
	}
	return s
}

// isOn reads on or off. YAML 1.2 reads both as texts; true and false mean the same.
func (p *values) isOn(n *yaml.Node) bool {
	if text := p.text(n, "network"); text == "true" || text == "false" {
		return text == "true"
	}
	return p.choice(n, "network", "on", "off") == "on"
}

// maxSandboxPaths is the maximum number of paths in a list.
const maxSandboxPaths = 1000

// sandboxPaths reads a list of paths.
func (p *values) sandboxPaths(n *yaml.Node, what string) []string {
	return p.texts(n, what, "a path", "paths", maxSandboxPaths, func(at *yaml.Node, path string) {
		if strings.ContainsRune(path, 0) {
			p.fail(at, "", "a path of %s has a NUL", what)
		}
	})
}

// size reads a number of bytes, with k, m, g or t behind it for powers of 1024.
func (p *values) size(n *yaml.Node, what string) int64 {
	text := p.text(n, what)
	const units = "kmgt"
	digits := strings.TrimSuffix(strings.ToLower(text), "b")
	power := 0
	if rest := strings.TrimRight(digits, units); len(rest) == len(digits)-1 {
		power = strings.IndexByte(units, digits[len(rest)]) + 1
		digits = rest
	}
	size, err := strconv.ParseInt(digits, 10, 40) // so that no unit overflows
	if p.err != nil {
		return 0
	}
	if err != nil {
		p.fail(n, "for example 512m or 2g", "%s is not a size: %q", what, text)
		return 0
	}
	size <<= 10 * power
	if size < 1<<20 || size > 1<<50 {
		p.fail(n, "", "%s must be from 1m to 1024t, not %q", what, text)
	}
	return size
}

// joinSandboxes gives the sandbox of the workflow to each task with a command that has no key sandbox.
func (c *checker) joinSandboxes() {
	for _, t := range c.wf.Tasks {
		if t.Run != "" && !c.sandboxed[t] {
			t.Sandbox = c.wf.Sandbox
		}
	}
}

// Confine puts each task with a command that has no sandbox into one without network, that may write its folder alone. The caller does not
// share the workflow yet.
func (w *Workflow) Confine() {
	for _, t := range w.Tasks {
		if t.Run != "" && t.Sandbox == nil {
			t.Sandbox = &sandbox.Spec{}
		}
	}
}

// ResolveSandboxes makes the sandboxes of the workflow and of those that it calls show where they write: see sandbox.Spec.Resolve. The caller does
// not share the workflow yet.
func (w *Workflow) ResolveSandboxes(at sandbox.Place) {
	tasks := slices.Clone(w.Tasks)
	for _, called := range w.Called() {
		tasks = append(tasks, called.Tasks...)
	}
	for _, t := range tasks {
		if t.Sandbox != nil {
			t.Sandbox = t.Sandbox.Resolve(at)
		}
	}
}
