package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MaxFile is the maximum size of a workflow file, in bytes.
const MaxFile = 1 << 20

// Limits of a workflow file's content.
const (
	maxYAMLNodes = 100_000 // after following aliases
	maxYAMLBytes = 8 << 20 // of their texts
	maxYAMLDepth = 100
)

// reader reads YAML nodes strictly. After an error, every method returns a zero
// value, so callers check err once, at the end of a part of the file. The next part begins
// without the error, so that all flaws of a file are found at once.
type reader struct {
	file  string
	nodes int
	bytes int
	err   error

	flaws   []*fault.Error      // the flaws of the parts read so far
	fatal   bool                // err is final: no further part is read
	strange map[*yaml.Node]bool // mappings with unknown keys, which may be misspelt required keys
}

// document reads the only document of a file and returns its top node.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > MaxFile {
		r.failLine(0, "", "the file is larger than %d bytes", MaxFile)
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		r.failYAML(err, data)
		return nil
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		r.failLine(0, workflowHint, "the file is empty")
		return nil
	} else if err != nil {
		r.failYAML(err, data)
		return nil
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			r.failYAML(err, data)
		} else {
			r.fail(&more, "one file is one workflow", "a second YAML document begins")
		}
		return nil
	}
	return doc.Content[0]
}

// failYAML records an error of the YAML library. data is the file, or nil for a part of it.
func (r *reader) failYAML(err error, data []byte) {
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		hint := ""
		if tabbed(data, load.Mark.Line) {
			hint = "indent with spaces: YAML allows no tab there"
		}
		r.failLine(load.Mark.Line, hint, "not valid YAML: %s", load.Message)
		return
	}
	r.failLine(0, "", "not valid YAML: %s", firstLine(err.Error()))
}

// tabbed reports whether a line, counted from 1, is indented with a tab.
func tabbed(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	return bytes.ContainsRune(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t')
}

// fail records the first error, at a node. hint may be "".
func (r *reader) fail(at *yaml.Node, hint, format string, args ...any) {
	line := 0
	if at != nil {
		line = at.Line
	}
	r.failLine(line, hint, format, args...)
}

// failLine is fail at a line; 0 means the whole file.
func (r *reader) failLine(line int, hint, format string, args ...any) {
	if r.err != nil {
		return
	}
	where := r.file
	if line > 0 {
		where += ":" + strconv.Itoa(line)
	}
	e := fault.New(fault.InvalidWorkflow, where+": "+format, args...).Detail("file", r.file)
	if line > 0 {
		e = e.Detail("line", line)
	}
	if hint != "" {
		e = e.Hint("%s", hint)
	}
	r.err = e
}

// follow returns the node that n or its alias means, and counts it.
func (r *reader) follow(n *yaml.Node) *yaml.Node {
	if r.nodes++; r.nodes > maxYAMLNodes {
		r.fatal = true
		r.fail(n, "aliases (*name) count as often as they are used", "the file has more than %d values", maxYAMLNodes)
	}
	if n != nil {
		r.bytes += len(n.Value)
	}
	if r.bytes > maxYAMLBytes {
		r.fatal = true
		r.fail(n, "aliases (*name) count as often as they are used", "the texts in the file are longer than %d bytes", maxYAMLBytes)
	}
	if r.err != nil || n == nil {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return r.follow(n.Alias)
	}
	return n
}

// mapping reads a mapping. known lists the allowed keys; nil allows any.
// what names the mapping in messages.
func (r *reader) mapping(n *yaml.Node, what string, known []string) (keys []*yaml.Node, fields map[string]*yaml.Node) {
	n = r.follow(n)
	if n == nil {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "", "%s must be a mapping, not %s", what, kindName(n))
		return nil, nil
	}
	fields = make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := r.follow(n.Content[i])
		if key == nil {
			return nil, nil
		}
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			r.fail(key, "", "a key of %s must be plain text", what)
		case fields[key.Value] != nil:
			r.fail(key, "", "%s has the key %q twice", what, key.Value)
		case known != nil && !slices.Contains(known, key.Value):
			r.fail(key, suggest(key.Value, known), "%s has no key %q", what, key.Value)
			r.strange[n] = true
		}
		if r.err != nil {
			if r.settle(); r.err != nil {
				return nil, nil
			}
			continue
		}
		keys = append(keys, key)
		fields[key.Value] = n.Content[i+1]
	}
	return keys, fields
}

// list reads a sequence.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	n = r.follow(n)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "", "%s must be a list, not %s", what, kindName(n))
		return nil
	}
	return n.Content
}

// text reads a scalar as written. It must not be empty.
func (r *reader) text(n *yaml.Node, what string) string {
	n = r.follow(n)
	if n == nil {
		return ""
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fail(n, "", "%s must be text, not %s", what, kindName(n))
	case !strings.HasPrefix(n.ShortTag(), "!!"):
		r.fail(n, "put a value that begins with ! in quotes", "%s has the YAML tag %q", what, n.ShortTag())
	case strings.TrimSpace(n.Value) == "" || n.ShortTag() == "!!null":
		r.fail(n, "", "%s is empty", what)
	default:
		return n.Value
	}
	return ""
}

// integer reads a whole number from low to high.
func (r *reader) integer(n *yaml.Node, what string, low, high int) int {
	text := r.text(n, what)
	if r.err != nil {
		return 0
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < low || number > high {
		r.fail(n, "", "%s must be a whole number from %d to %d, not %q", what, low, high, text)
		return 0
	}
	return number
}

// duration reads a positive duration such as 90s, 10m or 1h30m.
func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	text := r.text(n, what)
	if r.err != nil {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.fail(n, "a duration is written like 90s, 10m or 1h30m", "%s is not a duration: %q", what, text)
		return 0
	}
	return d
}

// json converts a node to its JSON value.
func (r *reader) json(n *yaml.Node, depth int) any {
	n = r.follow(n)
	if n == nil {
		return nil
	}
	if depth > maxYAMLDepth {
		r.fail(n, "", "nested more than %d levels deep", maxYAMLDepth)
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		keys, fields := r.mapping(n, "a schema", nil)
		object := make(map[string]any, len(keys))
		for _, key := range keys {
			object[key.Value] = r.json(fields[key.Value], depth+1)
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = r.json(item, depth+1)
		}
		return list
	default:
		return r.scalar(n)
	}
}

// scalar converts a scalar to a JSON value. Dates stay texts, and numbers keep their spelling if JSON allows it.
func (r *reader) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!str", "!!timestamp":
		return n.Value
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	case "!!bool":
	default:
		r.fail(n, "put a value that begins with ! in quotes", "the YAML tag %q has no meaning in JSON", n.ShortTag())
		return nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		r.failYAML(err, nil)
		return nil
	}
	if _, err := json.Marshal(value); err != nil {
		r.fail(n, "", "%q is not a JSON value", n.Value)
		return nil
	}
	return value
}

// kindName names the kind of a node in a message.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if n.ShortTag() == "!!null" {
			return "nothing"
		}
		return strconv.Quote(n.Value)
	}
}
