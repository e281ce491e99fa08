package workflow

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
)

var sandboxKeys = []string{"network", "write", "read", "env", "memory", "processes", "cpu"}

// sandboxHint shows how a sandbox is written.
const sandboxHint = "for example sandbox: true, or sandbox: {network: on, write: [.git], env: [API_KEY], memory: 2g}"

// sandbox reads the key sandbox of a task or of the workflow: true, false, or a mapping. The result is nil for false.
func (p *parser) sandbox(n *yaml.Node) *sandbox.Spec {
	at := p.follow(n)
	if at == nil {
		return nil
	}
	if at.Kind == yaml.ScalarNode && at.ShortTag() == "!!bool" {
		if p.json(at, 0) == true {
			return &sandbox.Spec{}
		}
		return nil
	}
	if at.Kind != yaml.MappingNode {
		p.fail(n, sandboxHint, "sandbox must be true, false or a mapping, not %s", kindName(at))
		return nil
	}
	_, fields := p.mapping(n, "sandbox", sandboxKeys)
	s := &sandbox.Spec{}
	p.key(fields, "network", func(n *yaml.Node) { s.Network = p.isOn(n) })
	p.key(fields, "write", func(n *yaml.Node) { s.Write = p.sandboxPaths(n, "write") })
	p.key(fields, "read", func(n *yaml.Node) { s.Read = p.sandboxPaths(n, "read") })
	p.key(fields, "env", func(n *yaml.Node) {
		for _, item := range p.list(n, "env") {
			name := p.text(item, "a variable")
			if p.err == nil && !envName.MatchString(name) {
				p.fail(item, "", "%q is not the name of an environment variable", name)
			}
			s.Env = append(s.Env, name)
		}
		slices.Sort(s.Env)
	})
	p.key(fields, "memory", func(n *yaml.Node) { s.Memory = p.size(n, "memory") })
	p.key(fields, "processes", func(n *yaml.Node) { s.Processes = p.integer(n, "processes", 1, 1_000_000) })
	p.key(fields, "cpu", func(n *yaml.Node) {
		text := p.text(n, "cpu")
		cpu, err := strconv.ParseFloat(text, 64)
		if p.err == nil && (err != nil || math.IsNaN(cpu) || cpu < 0.01 || cpu > 10_000) {
			p.fail(n, "write the number of processors, such as cpu: 1.5", "cpu must be a number from 0.01 to 10000, not %q", text)
		}
		s.CPU = cpu
	})
	return s
}

// isOn reads on or off. YAML 1.2 reads both as texts; true and false mean the same.
func (p *parser) isOn(n *yaml.Node) bool {
	switch text := p.text(n, "network"); {
	case text == "on" || text == "true":
		return true
	case text != "off" && text != "false" && p.err == nil:
		p.fail(n, suggest(text, []string{"on", "off"}), "network must be on or off, not %q", text)
	}
	return false
}

// maxSandboxPaths is the maximum number of paths in a list.
const maxSandboxPaths = 1000

// sandboxPaths reads a list of paths.
func (p *parser) sandboxPaths(n *yaml.Node, what string) []string {
	var paths []string
	for _, item := range p.list(n, what) {
		path := p.text(item, "a path")
		if p.err == nil && strings.ContainsRune(path, 0) {
			p.fail(item, "", "a path of %s has a NUL", what)
		}
		paths = append(paths, path)
	}
	if len(paths) > maxSandboxPaths && p.err == nil {
		p.fail(n, "", "%s has more than %d paths", what, maxSandboxPaths)
	}
	return paths
}

// size reads a number of bytes, with k, m, g or t behind it for powers of 1024.
func (p *parser) size(n *yaml.Node, what string) int64 {
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
func (p *parser) joinSandboxes() {
	for _, t := range p.wf.Tasks {
		if t.Run != "" && !p.sandboxed[t] {
			t.Sandbox = p.wf.Sandbox
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

// renderSandbox adds the sandbox of a task to props. It adds nothing if s is nil.
func renderSandbox(props map[string]string, s *sandbox.Spec) {
	if s != nil {
		props["sandbox"] = s.String()
	}
}
