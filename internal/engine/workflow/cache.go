package workflow

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// Bounds of a task's cache.
const (
	maxBy         = 100   // expressions
	maxCachePaths = 1000  // paths
	maxVersion    = 10000 // bytes of the version
)

// Cache says how the result of a task is used again by an equal task. The zero Cache compares everything that the command is given and
// all files.
type Cache struct {
	By      []Value       // what to compare in place of the whole input; nil compares everything that the command is given
	Version string        // the declared version; "" if the task declares none
	TTL     time.Duration // how long a result may be used; 0 means for ever
	NoFiles bool          // compare no files
	Paths   []string      // compare only the files and folders at these paths, sorted; nil compares all files
}

// Value is an expression with any result, in the language of conditions.
type Value struct {
	expression

	Text string // as written

	line int
}

// cache reads the key cache of a task: true, false, or a mapping. The result is nil for false.
func (p *values) cache(n *yaml.Node) *Cache {
	c := &Cache{}
	if !p.switched(n, "cache", "for example cache: true, or cache: {by: [input.ticket], version: v2, ttl: 24h}", keys{
		{"by", func(n *yaml.Node) { c.By = p.expressions(n) }},
		{"version", func(n *yaml.Node) {
			if c.Version = p.text(n, "version"); len(c.Version) > maxVersion {
				p.fail(n, "", "version is longer than %d bytes", maxVersion)
			}
		}},
		{"ttl", func(n *yaml.Node) { c.TTL = p.duration(n, "ttl") }},
		{"files", func(n *yaml.Node) { c.NoFiles = p.choice(n, "files", "all", "none") == "none" }},
		{"paths", func(at *yaml.Node) {
			if hasKey(p.follow(n), "files") {
				p.fail(at, "remove files", "cache has both files and paths")
				return
			}
			c.Paths = p.cachePaths(at)
		}},
	}) {
		return nil
	}
	return c
}

// expressions reads a list of expressions.
func (p *values) expressions(n *yaml.Node) []Value {
	values := []Value{}
	p.texts(n, "by", "an expression of by", "expressions", maxBy, func(at *yaml.Node, text string) {
		values = append(values, Value{Text: text, line: at.Line})
	})
	return values
}

// cachePaths reads a list of paths of the working copy.
func (p *values) cachePaths(n *yaml.Node) []string {
	paths := []string{}
	for _, text := range p.texts(n, "paths", "a path", "paths", maxCachePaths, func(at *yaml.Node, text string) {
		clean := path.Clean(text)
		if path.IsAbs(text) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
			p.fail(at, "name files and folders from the top of the working copy, such as src or go.mod", "%q is not a path in the working copy", text)
		}
	}) {
		paths = append(paths, path.Clean(text))
	}
	if p.err == nil && len(paths) == 0 {
		p.fail(n, "write files: none to compare no files", "paths must have from 1 to %d paths", maxCachePaths)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// checkCaches compiles the expressions of every task's cache, and checks the outputs that they read.
func (c *checker) checkCaches() {
	for _, t := range c.wf.Tasks {
		if t.Cache == nil {
			continue
		}
		for i := range t.Cache.By {
			c.part(func() { c.checkValue(t, "by", &t.Cache.By[i]) })
		}
	}
}

// checkValue compiles an expression of a task under the given key, and checks the outputs that it reads.
func (c *checker) checkValue(t *Task, key string, v *Value) {
	what := key + " of task " + t.ID
	e, err := compileExpression(v.Text, conditionEnv(map[string]any{}, map[string]any{}, nil, t.Loop != "", 0))
	if err != nil {
		c.failLine(v.line, "", "%s: %s: %s", what, v.Text, err)
		return
	}
	v.expression = *e
	for i := range v.Refs {
		c.checkRef(v.line, what, &v.Refs[i], c.readable(t))
	}
}

// Eval returns the value as canonical JSON. The parameters are those of [Condition.Eval]. A value that JSON cannot express is an error.
func (v *Value) Eval(input map[string]any, outputs map[OutputRef]any, inLoop bool, iteration int) (json.RawMessage, error) {
	tables, read := v.reading(outputs)
	value, err := v.run(conditionEnv(input, tables, read, inLoop, iteration))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Text, err)
	}
	text, err := jsontext.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Text, err)
	}
	return text, nil
}

// renderCache adds the cache of a task to props. It adds nothing if c is nil.
func renderCache(props map[string]string, c *Cache) {
	if c == nil {
		return
	}
	props["cache"] = "true"
	by := make([]string, len(c.By))
	for i, v := range c.By {
		by[i] = v.Text
	}
	set(props, "cacheBy", strings.Join(by, ", "))
	set(props, "cacheVersion", c.Version)
	set(props, "cachePaths", strings.Join(c.Paths, ", "))
	if c.NoFiles {
		props["cacheFiles"] = "none"
	}
	if c.TTL > 0 {
		props["cacheTtlMs"] = strconv.FormatInt(c.TTL.Milliseconds(), 10)
	}
}
