package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gowebpki/jcs"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxError is the maximum length of the text of a schema error, because the text quotes the value.
const maxError = 600

// Schema is a JSON Schema, draft 2020-12 or draft-07, ready to check values. Safe for
// concurrent use.
type Schema struct {
	Text    json.RawMessage // canonical JSON (RFC 8785)
	Written json.RawMessage // the text that Compile read
	Doubts  []string        // about unknown keywords, each with its JSON pointer

	root    *node
	draft07 bool
	tracks  bool // see compiler
}

// Compile reads a schema and adds its cost to bounds. It refuses an invalid schema, and a schema with which a later
// check would run forever. If the cost exceeds the limits, the error is a *LimitError.
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
	// If a key occurs twice in text, root has the last value, and so has the canonical text.
	written, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	c := &compiler{bounds: bounds, nodes: make(map[string]*node), refs: make(map[*node]string)}
	if path, number := inexact(root); number != "" {
		return nil, fmt.Errorf("#%s: %s is too large to be compared exactly", path, number)
	}
	s := &Schema{Written: bytes.Clone(text)}
	if s.Text, err = jcs.Transform(written); err != nil {
		return nil, err
	}
	if s.root, err = c.compile("#", plainNumbers(root)); err != nil {
		return nil, err
	}
	if err := c.follow(); err != nil {
		return nil, err
	}
	if err := c.findCircle(); err != nil {
		return nil, err
	}
	s.Doubts, s.draft07, s.tracks = c.doubts, c.draft07, c.tracks
	if err := s.checkDefaults(c); err != nil {
		return nil, err
	}
	return s, nil
}

// checkDefaults checks the defaults of all schemas in s, each against its own schema.
func (s *Schema) checkDefaults(c *compiler) error {
	for _, n := range c.order {
		for _, value := range n.preset {
			check := s.check(MaxWork - c.bounds.spent)
			f := check.fits(n, value, nil)
			if c.bounds.spent = MaxWork - check.left; check.left < 0 {
				return errWork
			}
			if f != nil {
				return fmt.Errorf("%s/default: %s", n.at, f)
			}
		}
	}
	return nil
}

// check returns a check that may take so many steps.
func (s *Schema) check(steps int64) *check {
	return &check{left: steps, draft07: s.draft07, tracks: s.tracks}
}

// Validate checks a value from DecodeValue. root names the value, and an error begins with the path from root to the
// flaw. Validate subtracts its steps from left. If left becomes negative, the value may fit or not, and the error wraps
// a *LimitError. Validate does not look at formats.
func (s *Schema) Validate(root string, value any, left *int64) error {
	return s.run(s.check(*left), root, value, left)
}

// Check is Validate with at most MaxWork steps, and it looks at formats.
func (s *Schema) Check(root string, value any) error {
	c := s.check(MaxWork)
	c.formats = true
	return s.run(c, root, value, new(int64))
}

// run makes a check of a value.
func (s *Schema) run(c *check, root string, value any, left *int64) error {
	f := c.fits(s.root, value, nil)
	if *left = c.left; c.left < 0 {
		return fmt.Errorf("%s: %w", root, errWork)
	}
	if f != nil {
		if f.path == "" {
			root += ": "
		}
		return errors.New(root + f.String())
	}
	return nil
}

// Misfit converts an error of Validate to an error for the person who gave the value. If err wraps a *LimitError, the
// code is limit_exceeded, and the result has the hint of the *LimitError. Otherwise the code is invalid_input.
func Misfit(err error) *fault.Error {
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return fault.New(fault.LimitExceeded, "%w", err).Hint("%s", limit.Hint)
	}
	return fault.New(fault.InvalidInput, "%w", err)
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
	return text, s.Validate(table, value, new(int64(maxOutputWork)))
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
