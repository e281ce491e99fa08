package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Bounds of a call.
const (
	maxWith     = 100  // values for the input of a called workflow
	maxCallPath = 1000 // bytes of the path of a called file
)

// bundleMark begins the line before a called workflow in a definition. The rest of the line is the path of the called file, relative to the folder
// of the first file. In YAML, a line that begins with --- begins a new document, wherever it is.
const bundleMark = "--- # workflow: "

// Call is the work of a task that runs another workflow, as a run of its own.
type Call struct {
	File     string     // the path of the called file, relative to the folder of the file that has the task
	Workflow *Workflow  // the called workflow
	With     []Argument // the members of the called run's input, in the order of the file
}

// Argument is a member of the input of a called run.
type Argument struct {
	Value

	Name string
}

// Read returns the content of a workflow file. path is relative to the folder of the first file, with slashes. A missing file is an error that wraps
// fs.ErrNotExist.
type Read func(path string) ([]byte, error)

// called holds the workflow files that the first file calls, directly or through others.
type called struct {
	read  Read                 // nil if the definition must have all of them
	texts map[string][]byte    // by path
	done  map[string]*Workflow // by path
	chain []string             // the paths of the files that are being read, the first file first
	bytes int                  // of the definition so far

	strict bool // commands run under sh -e
}

// unbundle splits a definition into the text of the first file and the texts of the files that it calls, by their paths.
func unbundle(data []byte) (own []byte, texts map[string][]byte) {
	texts = make(map[string][]byte)
	own, rest, found := cutMark(data)
	for found {
		line, text, _ := bytes.Cut(rest, []byte("\n"))
		text, rest, found = cutMark(text)
		if name := string(bytes.TrimRight(line, "\r")); texts[name] == nil {
			texts[name] = text
		}
	}
	return own, texts
}

// cutMark cuts data before and behind the first bundleMark at the beginning of a line.
func cutMark(data []byte) (before, after []byte, found bool) {
	at := bytes.Index(data, []byte("\n"+bundleMark))
	if at < 0 {
		return data, nil, false
	}
	return data[:at+1], data[at+1+len(bundleMark):], true
}

// bundle returns the definition of a workflow whose file has the text own: the text, and the texts of the files that it calls.
func (w *Workflow) bundle(own []byte) []byte {
	out := slices.Clone(own)
	for name, called := range w.Called() {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, bundleMark+name+"\n"...)
		out = append(out, called.text...)
	}
	if w.marksStrict() {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, bundleMark+strictName+"\n"...)
	}
	return out
}

// Text returns the definition for people, without the rule of sh at its end.
func (w *Workflow) Text() []byte {
	return bytes.TrimSuffix(w.definition, []byte(bundleMark+strictName+"\n"))
}

// addCalled adds the workflows that w calls, directly or through others, by their paths. folder is the folder of the file of w.
func (w *Workflow) addCalled(folder string, all map[string]*Workflow) {
	for _, t := range w.Tasks {
		if t.Call == nil {
			continue
		}
		name := path.Join(folder, t.Call.File)
		if all[name] == nil {
			all[name] = t.Call.Workflow
			t.Call.Workflow.addCalled(path.Dir(name), all)
		}
	}
}

// Called yields the workflows that w calls, directly or through others, each once, with the paths of their files relative to the folder of the file
// of w, in the order of the paths.
func (w *Workflow) Called() iter.Seq2[string, *Workflow] {
	return func(yield func(string, *Workflow) bool) {
		all := make(map[string]*Workflow)
		w.addCalled(".", all)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}

// depth returns the number of files in the longest chain of calls that begins with w.
func (w *Workflow) depth() int {
	deepest := 0
	for _, t := range w.Tasks {
		if t.Call != nil {
			deepest = max(deepest, t.Call.Workflow.calls)
		}
	}
	return deepest + 1
}

// call reads the key workflow of a task, and the workflow file that it names.
func (p *parser) call(n *yaml.Node, t *Task) *Call {
	file := p.text(n, "workflow")
	if p.err != nil {
		return nil
	}
	clean := path.Clean(file)
	if file == "" || len(file) > maxCallPath || path.IsAbs(file) || strings.Contains(file, `\`) || strings.Contains(file, ":") || plain.Text(file) != file {
		p.fail(n, "name the file from the folder of this file, such as workflow: review.yaml", "%q is not the path of a workflow file", file)
		return nil
	}
	name := path.Join(path.Dir(p.at()), clean)
	wf := p.read(n, t, name)
	if wf == nil {
		return nil
	}
	return &Call{File: clean, Workflow: wf}
}

// at returns the path of the file that p reads, relative to the folder of the first file.
func (p *parser) at() string { return p.called.chain[len(p.called.chain)-1] }

// read returns the workflow in the called file with the given path. If there is none, it reports a flaw at n and returns nil.
func (p *parser) read(n *yaml.Node, t *Task, name string) *Workflow {
	c := p.called
	if slices.Contains(c.chain, name) {
		p.fail(n, "let a loop repeat tasks instead", "task %s calls the workflow that it is part of: %s", t.ID, strings.Join(append(slices.Clone(c.chain), name), " -> "))
		return nil
	}
	wf := c.done[name]
	if wf == nil {
		text, err := c.text(name)
		if err != nil {
			p.failCall(n, t, name, err)
			return nil
		}
		if c.bytes += len(text) + len(bundleMark) + len(name) + 2; c.bytes > MaxFile {
			p.fail(n, "", "the workflow and those that it calls are larger than %d bytes together", MaxFile)
			return nil
		}
		c.chain = append(c.chain, name)
		deep := len(c.chain)
		if deep <= maxNesting {
			wf, err = p.parseCalled(name, text)
		}
		c.chain = c.chain[:deep-1]
		if err != nil {
			p.failCall(n, t, name, err)
			return nil
		}
	}
	if wf == nil || len(c.chain)+wf.calls > maxNesting {
		p.fail(n, "", "workflows call each other deeper than %d files", maxNesting)
		return nil
	}
	c.done[name] = wf
	return wf
}

// parseCalled parses the text of a called file. Its schemas count as those of the file that p reads.
func (p *parser) parseCalled(name string, text []byte) (*Workflow, error) {
	sub := newParser(path.Join(path.Dir(p.first), name), p.called)
	sub.first, sub.schemas, sub.nodes, sub.bytes = p.first, p.schemas, p.nodes, p.bytes
	wf, err := sub.parse(text)
	p.schemas, p.nodes, p.bytes = sub.schemas, sub.nodes, sub.bytes
	return wf, err
}

// text returns the text of a called file.
func (c *called) text(name string) ([]byte, error) {
	if text, ok := c.texts[name]; ok {
		return text, nil
	}
	if c.read == nil {
		return nil, fmt.Errorf("%s is not part of the definition: %w", name, fs.ErrNotExist)
	}
	text, err := c.read(name)
	if err == nil && bytes.Contains(append([]byte("\n"), text...), []byte("\n"+bundleMark)) {
		err = fmt.Errorf("a called file cannot contain %q", strings.TrimSpace(bundleMark))
	}
	if err == nil {
		c.texts[name] = text
	}
	return text, err
}

// failCall reports that the called file with the given path cannot be read or is flawed.
func (p *parser) failCall(n *yaml.Node, t *Task, name string, err error) {
	if known, ok := errors.AsType[*fault.Error](err); ok {
		hint := ""
		if len(known.Hints) > 0 {
			hint = known.Hints[0]
		}
		p.fail(n, hint, "task %s: %s", t.ID, known.Error())
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		p.fail(n, "the path is relative to the folder of this file", "task %s: there is no workflow file %s", t.ID, name)
		return
	}
	p.fail(n, "", "task %s: %s: %s", t.ID, name, err)
}

// with reads the key with of a task that calls a workflow: a mapping of names to expressions.
func (p *parser) with(n *yaml.Node, t *Task) {
	if t.Call == nil {
		p.fail(n, "remove with, or name a workflow", "task %s has with, but calls no workflow", t.ID)
		return
	}
	keys, fields := p.mapping(n, "with", nil)
	for _, key := range keys {
		at := fields[key.Value]
		t.Call.With = append(t.Call.With, Argument{Name: key.Value, Value: Value{Text: p.text(at, "with."+key.Value), line: key.Line}})
	}
	if p.err == nil && len(keys) > maxWith {
		p.fail(n, "", "with has more than %d values", maxWith)
	}
}

// checkCalls compiles the expressions of each call, and checks the outputs that they read. A task with an output needs a workflow that has one.
func (c *checker) checkCalls() {
	for _, t := range c.wf.Tasks {
		if t.Call == nil {
			continue
		}
		for i := range t.Call.With {
			a := &t.Call.With[i]
			c.part(func() { c.checkValue(t, "with."+a.Name, &a.Value) })
		}
		if t.Output != "" && t.Call.Workflow.Result() == nil {
			c.part(func() {
				c.failLine(t.line, "remove output, or give a task of the called workflow one", "task %s has an output, but no task of %s has one", t.ID, t.Call.File)
			})
		}
	}
}

// Result returns the task whose output is that of the whole workflow for a task that calls it: the last one in the file with an output. It returns
// nil if there is none.
func (w *Workflow) Result() *Task {
	for _, t := range slices.Backward(w.Tasks) {
		if t.Output != "" {
			return t
		}
	}
	return nil
}

// Works reports whether the task runs a command or calls a workflow, and does not wait.
func (t *Task) Works() bool { return t.Run != "" || t.Call != nil }

// renderCall adds what a task calls to props. It adds nothing if c is nil.
func renderCall(props map[string]string, c *Call) {
	if c == nil {
		return
	}
	props["mode"], props["workflow"] = "childRun", c.File
	for _, a := range c.With {
		props["with."+a.Name] = a.Text
	}
}
