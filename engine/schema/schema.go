package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/gowebpki/jcs"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxError limits the text of a schema error, which quotes the value.
const maxError = 600

// Schema is a JSON Schema, draft 2020-12 or draft-07, ready to validate. Safe for
// concurrent use.
type Schema struct {
	Text     json.RawMessage // canonical JSON (RFC 8785)
	resolved *jsonschema.Resolved
	graph    *graph
}

// Compile reads a schema. A schema that could not be validated later is an error; a schema
// beyond the remaining bounds is a *LimitError.
func Compile(text []byte, bounds *Bounds) (*Schema, error) {
	if len(text) > maxBytes {
		return nil, errBytes
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	graph, err := inspect(root, bounds)
	if err != nil {
		return nil, err
	}
	// The library must read what was inspected: if a key occurs twice, its last value.
	inspected, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	canonical, err := jcs.Transform(inspected)
	if err != nil {
		return nil, err
	}
	resolved, err := resolve(inspected, graph, bounds)
	if err != nil {
		return nil, err
	}
	return &Schema{Text: canonical, resolved: resolved, graph: graph}, nil
}

// resolve resolves a schema with the library and checks its defaults.
func resolve(text []byte, graph *graph, bounds *Bounds) (*jsonschema.Resolved, error) {
	var parsed jsonschema.Schema
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return nil, err
	}
	if len(graph.dangling) > 0 {
		return nil, fmt.Errorf("%s leads to no schema", graph.dangling[0])
	}
	defaults, err := bounds.addDefaults(graph)
	if err != nil || !defaults {
		return resolved, err
	}
	return parsed.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
}

// Validate checks a value from DecodeValue. root names the value; an error begins with the path
// from root to the flaw. The steps are subtracted from left. If left is too small, nothing is
// checked and the error is a *LimitError.
func (s *Schema) Validate(root string, value any, left *float64) error {
	if *left -= validationWork(s.graph.root, value, *left); *left < 0 {
		return fmt.Errorf("%s: %w", root, errWork)
	}
	err := s.resolved.Validate(value)
	if err == nil {
		return nil
	}
	path, reason := locate(err)
	reason = strings.ReplaceAll(reason, "<invalid reflect.Value>", "null")
	reason = strings.ReplaceAll(reason, "\n", "; ")
	return errors.New(root + path + ": " + plain.Cut(reason, maxError))
}

// Misfit converts an error of Validate about a person's value.
func Misfit(err error) *fault.Error {
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return fault.New(fault.LimitExceeded, "%w", err).Hint("%s", limit.Hint)
	}
	return fault.New(fault.InvalidInput, "%w", err)
}

// locate splits "validating <schema>: validating <schema>: … reason" into the path of the value
// that the innermost schema applies to, and the reason.
func locate(err error) (path, reason string) {
	at := ""
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return path, err.Error()
		}
		name, ok := strings.CutPrefix(strings.TrimSuffix(err.Error(), ": "+inner.Error()), "validating ")
		if !ok {
			return path, err.Error()
		}
		switch {
		case !strings.HasPrefix(name, "/"): // the root
			at = ""
		default:
			if step, ok := strings.CutPrefix(name, at+"/"); ok {
				path += valuePath(step)
			}
			at = name
		}
		err = inner
	}
}

// valuePath converts a part of a schema's JSON pointer to a path in the value.
func valuePath(pointer string) string {
	var path strings.Builder
	steps := strings.Split(pointer, "/")
	for i := 0; i < len(steps); i++ {
		switch steps[i] {
		case "properties":
			if i++; i < len(steps) {
				path.WriteString("." + strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i]))
			}
		case "prefixItems":
			if i++; i < len(steps) {
				path.WriteString("[" + steps[i] + "]")
			}
		case "items", "contains", "additionalItems", "unevaluatedItems":
			path.WriteString("[]")
		case "additionalProperties", "unevaluatedProperties":
			path.WriteString(".*")
		case "patternProperties":
			path.WriteString(".*")
			i++
		}
	}
	return path.String()
}

// CheckOutput reads and checks what a task printed for a table.
func (s *Schema) CheckOutput(table string, printed []byte) (json.RawMessage, error) {
	text, value, err := DecodeValue(printed)
	if err != nil {
		return nil, fmt.Errorf("stdout: %w", err)
	}
	return text, s.Validate(table, value, new(float64(maxOutputWork)))
}

// Brief returns JSON on one line for a message, shortened.
func Brief(value json.RawMessage) string { return plain.Cut(Compact(value), maxError) }

// Compact returns JSON on one line, without white space. Invalid JSON is returned unchanged.
func Compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}
