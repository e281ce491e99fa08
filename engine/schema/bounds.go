package schema

import (
	"fmt"
	"regexp/syntax"
)

// Limits of the schemas of one workflow file or form. The schema library cannot be interrupted, so its
// input is limited beforehand.
const (
	maxBytes        = 4 << 20   // of one schema as JSON
	maxSchemas      = 20_000    // of subschemas
	maxPointerBytes = 32 << 20  // of their JSON pointers
	maxPatternBytes = 10_000    // of one pattern
	maxPatternSize  = 1_000_000 // instructions of all patterns
)

// Limits of validations, in steps. See validationWork.
const (
	MaxWork       = 50_000_000    // of a file's defaults, or of a value from outside
	maxOutputWork = 1_000_000_000 // of an output; its command had no time limit either
)

// LimitError means that a schema is beyond a limit.
type LimitError struct{ What, Hint string }

func (e *LimitError) Error() string { return e.What }

var (
	errBytes = &LimitError{
		fmt.Sprintf("larger than %d bytes as JSON", maxBytes),
		"aliases (*name) count as often as they are used; what a $ref leads to counts once",
	}
	errSchemas = &LimitError{
		fmt.Sprintf("more than %d schemas, those inside of schemas included", maxSchemas),
		"schemas that are alike can be one under $defs, and a $ref to it",
	}
	errPointerBytes = &LimitError{"the names in the schemas are too long together", "shorten the names, or nest less"}
	errPatternBytes = &LimitError{
		fmt.Sprintf("a pattern is longer than %d bytes", maxPatternBytes),
		"split the pattern: all parts of an allOf must match",
	}
	errPatternSize = &LimitError{
		fmt.Sprintf("the patterns are too large: together they compile to more than %d instructions", maxPatternSize),
		"give the repeats in patterns, like {1,1000}, smaller bounds; maxLength bounds a text",
	}
	errWork = &LimitError{
		"checking the value against its schema may take too long",
		"let the schema reach each $ref in fewer ways, or give a smaller value",
	}
)

// Bounds adds up the cost of a file's schemas.
type Bounds struct {
	schemas, pointers, patterns int
	defaults                    float64 // steps
}

// addSchema adds a subschema. at is its JSON pointer.
func (b *Bounds) addSchema(at string) error {
	if b.schemas++; b.schemas > maxSchemas {
		return errSchemas
	}
	if b.pointers += len(at); b.pointers > maxPointerBytes {
		return errPointerBytes
	}
	return nil
}

// addPattern returns the number of instructions of a compiled pattern, or 0 if the text is not a pattern.
func (b *Bounds) addPattern(text string) (int, error) {
	if len(text) > maxPatternBytes {
		return 0, errPatternBytes
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, nil //nolint:nilerr // the schema library reports the flaw
	}
	size := patternSize(parsed)
	if b.patterns += size; b.patterns > maxPatternSize {
		return 0, errPatternSize
	}
	return size, nil
}

// patternSize counts a pattern's instructions and character ranges, with repeats expanded.
func patternSize(re *syntax.Regexp) int {
	const runesPerInstruction = 8 // about as many bytes
	size := 1 + len(re.Rune)/runesPerInstruction
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1) + 1 // x{2,} is xxx*
	}
	return min(size, maxPatternSize+1)
}

// addDefaults adds the work of checking each default against its schema, and reports whether there are any.
func (b *Bounds) addDefaults(g *graph) (found bool, err error) {
	for _, n := range g.nodes {
		for _, value := range n.defaults {
			found = true
			if b.defaults += validationWork(n, value, MaxWork-b.defaults); b.defaults > MaxWork {
				return true, errWork
			}
		}
	}
	return found, nil
}
