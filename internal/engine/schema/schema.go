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

// maxError is the maximum length of the text of a schema error, because the text quotes the value.
const maxError = 600

// Schema is a JSON Schema, draft 2020-12 or draft-07, ready to validate. Safe for
// concurrent use.
type Schema struct {
	Text     json.RawMessage // canonical JSON (RFC 8785)
	Written  json.RawMessage // the text that Compile read
	resolved *jsonschema.Resolved
	graph    *graph
}

// Compile reads a schema and adds its cost to bounds. It refuses an invalid schema, and a schema with which a later
// validation would fail or run forever. If the cost exceeds the limits, the error is a *LimitError.
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
	// The library must read the values that were inspected. If a key occurs twice in text, only the last value was
	// inspected.
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
		return nil, inWords(err)
	}
	return &Schema{Text: canonical, Written: bytes.Clone(text), resolved: resolved, graph: graph}, nil
}

// inWords returns an error of the library without the names of its types.
func inWords(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s cannot be a JSON %s", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], wrong.Value)
	}
	if _, why, found := strings.Cut(err.Error(), "<anonymous schema>: "); found {
		return errors.New(why)
	}
	return err
}

// resolve parses and resolves a schema with the library. It refuses dangling references of graph, and a default
// that does not fit its schema. It adds the work to check the defaults to bounds.
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
		return nil, fmt.Errorf("%s points to no schema", graph.dangling[0])
	}
	defaults, err := bounds.addDefaults(graph)
	if err != nil || !defaults {
		return resolved, err
	}
	// addDefaults has limited the work, so now the library may check the defaults, too.
	return parsed.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
}

// Validate checks a value from DecodeValue. root names the value, and an error begins with the path from root to the
// flaw. Validate subtracts its estimated steps from left. If left becomes negative, Validate does not check the
// value, and the error wraps a *LimitError.
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
	return errors.New(root + path + ": " + plain.Cut(plainly(reason), maxError))
}

// Check is Validate and CheckFormats, with at most MaxWork steps.
func (s *Schema) Check(root string, value any) error {
	if err := s.Validate(root, value, new(float64(MaxWork))); err != nil {
		return err
	}
	return s.CheckFormats(root, value)
}

// Misfit converts an error of Validate to an error for the person who gave the value. If err wraps a *LimitError, the
// code is limit_exceeded, and the result has the hint of the *LimitError. Otherwise the code is invalid_input.
func Misfit(err error) *fault.Error {
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return fault.New(fault.LimitExceeded, "%w", err).Hint("%s", limit.Hint)
	}
	return fault.New(fault.InvalidInput, "%w", err)
}

// locate splits an error of the library, which has the form "validating <schema>: validating <schema>: … reason". path
// is the path of the value to which the innermost schema applies. reason is the text after the names of the schemas.
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
		case !strings.HasPrefix(name, "/"): // the root schema
			at = ""
		default:
			// The schema may lie below the previous schema, whose pointer is at. Otherwise the schema is the target of
			// a $ref, and applies to the same value.
			if step, ok := strings.CutPrefix(name, at+"/"); ok {
				path += valuePath(step)
			}
			at = name
		}
		err = inner
	}
}

// valuePath converts a part of a schema's JSON pointer to a path in the value, such as ".list[]". It writes "[]" for
// any item and ".*" for any property. A keyword that applies to the same value adds no step to the path.
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

// CheckOutput decodes printed, the output of a task for a table, and checks the output against the schema. It returns
// the output's bytes without surrounding white space. If printed is not valid JSON, the error begins with "stdout". If
// the output does not fit, the error names the table and the path of the flaw. If the check may take more than
// maxOutputWork steps, the error wraps a *LimitError.
func (s *Schema) CheckOutput(table string, printed []byte) (json.RawMessage, error) {
	text, value, err := DecodeValue(printed)
	if err != nil {
		return nil, fmt.Errorf("stdout: %w", err)
	}
	return text, s.Validate(table, value, new(float64(maxOutputWork)))
}

// Brief returns JSON on one line for a message, cut at maxError.
func Brief(value json.RawMessage) string { return plain.Cut(Compact(value), maxError) }

// Compact returns JSON on one line, without white space between tokens. It returns invalid JSON unchanged.
func Compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}
