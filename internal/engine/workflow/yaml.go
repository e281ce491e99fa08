package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// MaxFile is the maximum size of a workflow file, in bytes.
const MaxFile = 1 << 20

// Limits of a workflow file's content.
const (
	maxYAMLNodes = 100_000 // number of nodes; a node counts once for each use by an alias
	maxYAMLBytes = 8 << 20 // bytes of the texts of all counted nodes
	maxYAMLDepth = 100     // levels of a schema
)

// reader reads YAML nodes strictly. After an error, its methods read no further node and return a zero or incomplete
// value, so callers check err once, at the end of a part of the file. The next part begins without the error, so that
// all flaws of a file are found at once.
type reader struct {
	file  string     // the name of the file, for messages
	top   *yaml.Node // the mapping whose keys that begin with x- are ignored
	nodes int        // number of nodes that follow has counted
	bytes int        // bytes of the texts of these nodes
	err   error      // the first error of the current part

	flaws   []*fault.Error      // the flaws of the parts read so far
	fatal   bool                // err is final, so no further part is read
	strange map[*yaml.Node]bool // mappings with unknown keys, which may be misspelt required keys
}

// document reads data, the content of a file, and returns the top node of its only YAML document. If the file is too
// large, is not YAML, or does not have exactly one document, document records the error and returns nil.
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
			r.fail(&more, "put each workflow into a file of its own", "the file has a second YAML document")
		}
		return nil
	}
	r.merge(doc.Content[0], make(map[*yaml.Node]bool))
	return doc.Content[0]
}

// failYAML records an error of the YAML library, at the error's line if the library names a line. data is the content
// of the file, or nil if the error concerns a single node.
func (r *reader) failYAML(err error, data []byte) {
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		hint := ""
		if tabbed(data, load.Mark.Line) {
			hint = "indent with spaces: YAML allows no tabs there"
		}
		r.failLine(load.Mark.Line, hint, "not valid YAML: %s", load.Message)
		return
	}
	r.failLine(0, "", "not valid YAML: %s", firstLine(err.Error()))
}

// tabbed reports whether the indentation of a line of data has a tab. Lines are counted from 1. tabbed returns false
// if data has no such line.
func tabbed(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	return bytes.ContainsRune(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t')
}

// fail records an error at the node at, unless the part has an error already. If at is nil, the error is about the
// whole file. If hint is "", the error has no hint. format and args are the message.
func (r *reader) fail(at *yaml.Node, hint, format string, args ...any) {
	line := 0
	if at != nil {
		line = at.Line
	}
	r.failLine(line, hint, format, args...)
}

// failLine records an error of code invalid_workflow at a line, unless the part has an error already. Line 0 means
// the whole file. If hint is "", the error has no hint. format and args are the message.
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

// follow returns n or, if n is an alias, the node that the alias names. It counts each node that it visits, and the
// bytes of the node's text. If a count exceeds its limit, follow records a fatal error. If n is nil or the part has an
// error, follow returns nil.
func (r *reader) follow(n *yaml.Node) *yaml.Node {
	if r.nodes++; r.nodes > maxYAMLNodes {
		r.fatal = true
		r.fail(n, "use fewer aliases (*name): each use of an alias counts", "the file has more than %d values", maxYAMLNodes)
	}
	if n != nil {
		r.bytes += len(n.Value)
	}
	if r.bytes > maxYAMLBytes {
		r.fatal = true
		r.fail(n, "use fewer aliases (*name): each use of an alias counts", "the texts in the file are longer than %d bytes", maxYAMLBytes)
	}
	if r.err != nil || n == nil {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return r.follow(n.Alias)
	}
	return n
}

// mapping returns the keys of a mapping in file order, and the values by key. known lists the allowed keys. If known
// is nil, every key is allowed. mapping reports each unknown, repeated or invalid key, and leaves such a key out. If
// n is not a mapping, or an error ends the reading of the file, the results are nil. what names the mapping in
// messages.
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
		case key.Kind != yaml.ScalarNode:
			r.fail(key, "", "a key of %s must be plain text", what)
		case fields[key.Value] != nil:
			r.fail(key, "", "%s has the key %q twice", what, key.Value)
		case n == r.top && strings.HasPrefix(key.Value, extension):
			continue
		case known != nil && !slices.Contains(known, key.Value):
			r.fail(key, suggestKey(key.Value, known), "%s has no key %q", what, key.Value)
			r.strange[n] = true
		}
		if r.err != nil {
			if r.settle(); r.err != nil { // the error is fatal, or the file has too many flaws
				return nil, nil
			}
			continue
		}
		keys = append(keys, key)
		fields[key.Value] = n.Content[i+1]
	}
	return keys, fields
}

// list returns the items of the sequence n. For any other node, it records an error and returns nil. what names the
// sequence in messages.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	n = r.follow(n)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		hint := ""
		switch {
		case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
			hint = "write [" + n.Value + "]"
		case n.Kind == yaml.MappingNode && what == "tasks":
			hint = "begin each task with - and its id, such as - {id: build, run: make}"
		}
		r.fail(n, hint, "%s must be a list, not %s", what, kindName(n))
		return nil
	}
	return n.Content
}

// text returns the scalar n as written. An empty scalar, a scalar with a tag of its own, and any other node are errors,
// for which text returns "". what names the scalar in messages.
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

// boolean returns the value of n, which must be true or false. what names n in messages.
func (r *reader) boolean(n *yaml.Node, what string) bool {
	text := r.text(n, what)
	if r.err == nil && text != "true" && text != "false" {
		r.fail(n, "write true or false", "%s must be true or false, not %q", what, text)
	}
	return text == "true"
}

// integer returns the whole number in n, which must be from low to high. For any other node, it records an error and
// returns 0. what names the number in messages.
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

// duration returns the positive duration in n, such as 90s, 10m or 1h30m. For any other node, it records an error and
// returns 0. what names the duration in messages.
func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	text := r.text(n, what)
	if r.err != nil {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.fail(n, "write a duration like 90s, 10m or 1h30m", "%s is not a duration: %q", what, text)
		return 0
	}
	return d
}

// number returns the number in n, which must be from low to high. what names the number in messages.
func (r *reader) number(n *yaml.Node, what, hint string, low, high float64) float64 {
	text := r.text(n, what)
	number, err := strconv.ParseFloat(text, 64)
	if r.err == nil && (err != nil || math.IsNaN(number) || number < low || number > high) {
		r.fail(n, hint, "%s must be a number from %v to %v, not %q", what, low, high, text)
	}
	return number
}

// choice returns the text of n, which must be one of the known ones. what names the text in messages.
func (r *reader) choice(n *yaml.Node, what string, known ...string) string {
	text := r.text(n, what)
	if r.err == nil && !slices.Contains(known, text) {
		last := len(known) - 1
		r.fail(n, suggest(text, known), "%s must be %s or %s, not %q", what, strings.Join(known[:last], ", "), known[last], text)
	}
	return text
}

// texts returns the texts in a list of at most the given length. what names the list in messages, item one of its texts, and items several.
func (r *reader) texts(n *yaml.Node, what, item, items string, most int, check func(at *yaml.Node, text string)) (all []string) {
	for _, at := range r.list(n, what) {
		text := r.text(at, item)
		if r.err == nil && check != nil {
			check(at, text)
		}
		all = append(all, text)
	}
	if r.err == nil && len(all) > most {
		r.fail(n, "", "%s has more than %d %s", what, most, items)
	}
	return all
}

// keys are the keys that a mapping may have, with what reads their values.
type keys []struct {
	name string
	read func(n *yaml.Node)
}

// object reads a mapping: every key as a part of its own, in the order of known. It reports whether n is a mapping.
func (r *reader) object(n *yaml.Node, what string, known keys) bool {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	_, fields := r.mapping(n, what, names)
	for _, k := range known {
		r.key(fields, k.name, k.read)
	}
	return fields != nil
}

// switched reads the value of a key that is true, false or a mapping. It reports whether the value is not false. If it is a mapping, switched
// reads its keys.
func (r *reader) switched(n *yaml.Node, what, hint string, known keys) bool {
	at := r.follow(n)
	switch {
	case at == nil:
		return false
	case at.Kind == yaml.ScalarNode && at.ShortTag() == "!!bool":
		return r.json(at, 0) == true
	case at.Kind != yaml.MappingNode:
		r.fail(n, hint, "%s must be true, false or a mapping, not %s", what, kindName(at))
		return false
	}
	r.object(n, what, known)
	return true
}

// json returns the JSON value of n, a node in a schema. An object is a jsontext.Members, in the order of the file. depth is the number of
// mappings and lists around n. If depth exceeds maxYAMLDepth, json records an error. After an error, the value is incomplete.
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
		object := make(jsontext.Members, 0, len(keys))
		for _, key := range keys {
			value, err := jsontext.Encode(r.json(fields[key.Value], depth+1))
			if err != nil {
				r.fail(key, "", "%q is not a JSON value: %s", key.Value, err)
			}
			object = append(object, jsontext.Member{Name: key.Value, Value: value})
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

// scalar returns the JSON value of the scalar n. A date stays a text, and a number keeps its spelling if the spelling
// is valid JSON. If the tag or the value of n has no meaning in JSON, scalar records an error and returns nil.
func (r *reader) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!str", "!!timestamp":
		return n.Value
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		} // n.Decode below reads a spelling such as 0x10
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

// kindName returns the words for n in a message: "a mapping", "a list", "nothing" for null, or the quoted text of a
// scalar.
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
