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

var cacheKeys = []string{"by", "version", "ttl", "files", "paths"}

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
func (p *parser) cache(n *yaml.Node) *Cache {
	at := p.follow(n)
	if at == nil {
		return nil
	}
	if at.Kind == yaml.ScalarNode && at.ShortTag() == "!!bool" {
		if p.json(at, 0) == true {
			return &Cache{}
		}
		return nil
	}
	if at.Kind != yaml.MappingNode {
		p.fail(n, "for example cache: true, or cache: {by: [input.ticket], version: v2, ttl: 24h}", "cache must be true, false or a mapping, not %s", kindName(at))
		return nil
	}
	_, fields := p.mapping(n, "cache", cacheKeys)
	c := &Cache{}
	p.key(fields, "by", func(n *yaml.Node) { c.By = p.values(n) })
	p.key(fields, "version", func(n *yaml.Node) {
		if c.Version = p.text(n, "version"); len(c.Version) > maxVersion {
			p.fail(n, "", "version is longer than %d bytes", maxVersion)
		}
	})
	p.key(fields, "ttl", func(n *yaml.Node) { c.TTL = p.duration(n, "ttl") })
	p.key(fields, "files", func(n *yaml.Node) {
		switch text := p.text(n, "files"); {
		case text == "none":
			c.NoFiles = true
		case text != "all" && p.err == nil:
			p.fail(n, suggest(text, []string{"all", "none"}), "files must be all or none, not %q", text)
		}
	})
	p.key(fields, "paths", func(n *yaml.Node) {
		if fields["files"] != nil {
			p.fail(n, "remove files", "cache has both files and paths")
			return
		}
		c.Paths = p.cachePaths(n)
	})
	return c
}

// values reads a list of expressions.
func (p *parser) values(n *yaml.Node) []Value {
	values := []Value{}
	for _, item := range p.list(n, "by") {
		values = append(values, Value{Text: p.text(item, "an expression of by"), line: item.Line})
	}
	if len(values) > maxBy && p.err == nil {
		p.fail(n, "", "by has more than %d expressions", maxBy)
	}
	return values
}

// cachePaths reads a list of paths of the working copy.
func (p *parser) cachePaths(n *yaml.Node) []string {
	paths := []string{}
	for _, item := range p.list(n, "paths") {
		text := p.text(item, "a path")
		clean := path.Clean(text)
		if p.err == nil && (text == "" || path.IsAbs(text) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../")) {
			p.fail(item, "name files and folders from the top of the working copy, such as src or go.mod", "%q is not a path in the working copy", text)
		}
		paths = append(paths, clean)
	}
	if p.err == nil && (len(paths) == 0 || len(paths) > maxCachePaths) {
		p.fail(n, "write files: none to compare no files", "paths must have from 1 to %d paths", maxCachePaths)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// checkCaches compiles the expressions of every task's cache, and checks the outputs that they read.
func (p *parser) checkCaches() {
	if p.err != nil {
		return
	}
	for _, t := range p.wf.Tasks {
		if t.Cache == nil {
			continue
		}
		for i := range t.Cache.By {
			p.part(func() { p.checkValue(t, "by", &t.Cache.By[i]) })
		}
	}
}

// checkValue compiles an expression of a task under the given key, and checks the outputs that it reads.
func (p *parser) checkValue(t *Task, key string, v *Value) {
	what := key + " of task " + t.ID
	e, err := compileExpression(v.Text, conditionEnv(map[string]any{}, map[string]any{}, nil, t.Loop != "", 0))
	if err != nil {
		p.failLine(v.line, "", "%s: %s: %s", what, v.Text, err)
		return
	}
	v.expression = *e
	for i := range v.Refs {
		p.checkRef(v.line, what, &v.Refs[i], p.readable(t))
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
	var by []string
	for _, v := range c.By {
		by = append(by, v.Text)
	}
	for name, value := range map[string]string{"cacheBy": strings.Join(by, ", "), "cacheVersion": c.Version, "cachePaths": strings.Join(c.Paths, ", ")} {
		if value != "" {
			props[name] = value
		}
	}
	if c.NoFiles {
		props["cacheFiles"] = "none"
	}
	if c.TTL > 0 {
		props["cacheTtlMs"] = strconv.FormatInt(c.TTL.Milliseconds(), 10)
	}
}
