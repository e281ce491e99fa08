package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Limits of a template.
const (
	maxTemplateBytes = 64 << 10 // as written
	maxFilledBytes   = 64 << 10 // with its placeholders filled in
)

// Template is a text with placeholders, {expression}, in the language of conditions.
// A doubled brace is a literal brace. Safe for concurrent use.
type Template struct {
	Text string // as written

	line  int
	parts []part
	Refs  []OutputRef // of all its placeholders
}

// part is a literal text or a placeholder.
type part struct {
	text  string      // the literal text, or the placeholder's expression as written
	value *expression // nil for a literal text
}

var errLoneBrace = errors.New("a } has no opening {: write }} for a literal }")

// cutTemplate splits a text into literals, at even indexes, and expressions, at odd indexes. It replaces doubled
// braces in literals by single braces. A lone } and a { without } are errors.
func cutTemplate(text string) ([]string, error) {
	var pieces []string
	var literal strings.Builder
	for text != "" { // text is the rest that has not been split yet
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			break
		}
		literal.WriteString(text[:at])
		brace := text[at : at+1]
		text = text[at+1:]
		if strings.HasPrefix(text, brace) {
			literal.WriteString(brace)
			text = text[1:]
			continue
		}
		if brace == "}" {
			return nil, errLoneBrace
		}
		end := placeholderEnd(text)
		if end < 0 {
			return nil, errors.New("a { has no closing }: write {{ for a literal {")
		}
		pieces = append(pieces, literal.String(), text[:end])
		literal.Reset()
		text = text[end+1:]
	}
	literal.WriteString(text)
	return append(pieces, literal.String()), nil
}

// placeholderEnd returns the index of the brace that closes a placeholder, or -1 if text has no such brace. text
// begins after the opening brace. placeholderEnd skips quoted texts and nested pairs of braces.
func placeholderEnd(text string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\' && quote != '`': // skips the escaped character; a text in backquotes has no escapes
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

// compileTemplate compiles a text with placeholders to a template without a line. A text that is too long, an empty
// placeholder and an invalid expression are errors.
func compileTemplate(text string) (*Template, error) {
	if len(text) > maxTemplateBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxTemplateBytes)
	}
	pieces, err := cutTemplate(text)
	if err != nil {
		return nil, err
	}
	t := &Template{Text: text}
	for i, piece := range pieces {
		if i%2 == 0 {
			t.parts = append(t.parts, part{text: piece})
			continue
		}
		if strings.TrimSpace(piece) == "" {
			return nil, errors.New("a placeholder is empty: write {{}} for braces")
		}
		e, err := compileExpression(piece, templateEnv(map[string]any{}, map[string]any{}, nil, "", NodeKey{}))
		if err != nil {
			return nil, fmt.Errorf("{%s}: %w", piece, err)
		}
		t.parts = append(t.parts, part{text: piece, value: e})
		t.Refs = append(t.Refs, e.Refs...)
	}
	return t, nil
}

// templateEnv returns the names that a placeholder can use, with their values. It can use the names of a condition in a
// loop, and also run, the run's id, and task, the task's id. read is the function output(). If read is nil, output()
// returns null for every output.
func templateEnv(input, outputs map[string]any, read func(table, node string) any, run string, key NodeKey) map[string]any {
	env := conditionEnv(input, outputs, read, true, key.Iteration)
	env["run"], env["task"] = run, key.ID
	return env
}

// Fill returns the text with filled placeholders for a node of a run. outputs maps the elements of t.Refs to
// values; a missing value is null, which becomes "". If the template cannot be filled, text is "" and trouble is
// the reason.
func (t *Template) Fill(input map[string]any, outputs map[OutputRef]any, run string, key NodeKey) (text, trouble string) {
	var out strings.Builder
	for _, p := range t.parts {
		text, err := p.fill(input, outputs, run, key)
		if err != nil {
			return "", err.Error()
		}
		if out.Len()+len(text) > maxFilledBytes {
			return "", fmt.Sprintf("longer than %d bytes", maxFilledBytes)
		}
		out.WriteString(text)
	}
	if !utf8.ValidString(out.String()) { // an expression can cut a text inside a character
		return "", "not valid UTF-8"
	}
	return out.String(), ""
}

// fill returns the text of the part for a node of a run. This is the literal text, or the value of the placeholder as
// text. outputs maps references to values, and a missing value is null.
func (p part) fill(input map[string]any, outputs map[OutputRef]any, run string, key NodeKey) (string, error) {
	if p.value == nil {
		return p.text, nil
	}
	tables, read := p.value.reading(outputs)
	value, err := p.value.run(templateEnv(input, tables, read, run, key))
	if err != nil {
		return "", err
	}
	text, err := showValue(value)
	if err != nil {
		return "", fmt.Errorf("the value of {%s} is %w", plain.Cut(p.text, maxShownResult), err)
	}
	return text, nil
}

// showValue returns a placeholder's value as text. The text of null is "". A mapping, a list and a number that JSON
// cannot express are errors. The error continues a sentence that ends with "is".
func showValue(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool, int, int64, uint64, float64:
		text, err := json.Marshal(v)
		if err != nil {
			return "", fmt.Errorf("%v, not a number", v)
		}
		return string(text), nil
	}
	return "", fmt.Errorf("%s, not text", describe(value))
}
