package schema

import (
	"fmt"
	"regexp/syntax"
)

// Limits of the schemas of one workflow file or form. The schema library cannot be interrupted, so this package
// limits the library's input beforehand.
const (
	maxBytes        = 4 << 20   // bytes of one schema as JSON
	maxSchemas      = 20_000    // number of schemas, including subschemas
	maxPointerBytes = 32 << 20  // bytes of the JSON pointers of all schemas
	maxPatternBytes = 10_000    // bytes of one pattern
	maxPatternSize  = 1_000_000 // instructions of all patterns
)

// Limits of validations, in steps. See validationWork.
const (
	MaxWork       = 50_000_000    // for all defaults of a file, or for a value from outside
	maxOutputWork = 1_000_000_000 // for an output, because the command that wrote the output had no time limit either
)

// LimitError means that a schema, or a validation, is beyond a limit. What is the message, and Hint says what a
// person can do.
type LimitError struct{ What, Hint string }

// Error returns the message in e.What.
func (e *LimitError) Error() string { return e.What }

var (
	errBytes = &LimitError{
		fmt.Sprintf("larger than %d bytes as JSON", maxBytes),
		"use a $ref instead of an alias (*name): the target of a $ref counts only once",
	}
	errSchemas = &LimitError{
		fmt.Sprintf("more than %d schemas, including the schemas inside of schemas", maxSchemas),
		"put equal schemas under $defs once, and refer to them with $ref",
	}
	errPointerBytes = &LimitError{
		fmt.Sprintf("the paths of all schemas together are longer than %d bytes", maxPointerBytes),
		"shorten the names, or nest the schemas less deeply",
	}
	errPatternBytes = &LimitError{
		fmt.Sprintf("a pattern is longer than %d bytes", maxPatternBytes),
		"split the pattern: all parts of an allOf must match",
	}
	errPatternSize = &LimitError{
		fmt.Sprintf("the patterns are too large: together they compile to more than %d instructions", maxPatternSize),
		"give repeats such as {1,1000} smaller bounds, or limit the text with maxLength",
	}
	errWork = &LimitError{
		"checking the value against its schema may take too long",
		"use fewer references ($ref) to the same schema, or give a smaller value",
	}
)

// Bounds adds up the cost of the schemas of one file or form. The zero Bounds has no cost yet.
type Bounds struct {
	schemas, pointers, patterns int     // schemas, bytes of pointers, and instructions of patterns
	defaults                    float64 // steps to check the defaults
}

// addSchema adds the cost of a schema or subschema. at is the schema's JSON pointer. If a limit is exceeded, the error
// is a *LimitError.
func (b *Bounds) addSchema(at string) error {
	if b.schemas++; b.schemas > maxSchemas {
		return errSchemas
	}
	if b.pointers += len(at); b.pointers > maxPointerBytes {
		return errPointerBytes
	}
	return nil
}

// addPattern adds the size of a pattern to b and returns this size: the estimated number of instructions of the
// compiled pattern. If text is not a valid pattern, it adds nothing and returns 0. If a limit is exceeded, the error
// is a *LimitError.
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

// patternSize returns an estimate of the number of instructions of a compiled pattern. Each repeat counts as often as
// it can occur. Large character classes count as more than one instruction. patternSize returns at most
// maxPatternSize+1.
func patternSize(re *syntax.Regexp) int {
	const runesPerInstruction = 8 // about this many runes of a character class take the bytes of an instruction
	size := 1 + len(re.Rune)/runesPerInstruction
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune) // one instruction for each character
	}
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), maxPatternSize+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1) + 1 // x{2,} is xxx*
	}
	return min(size, maxPatternSize+1)
}

// addDefaults adds to b the work to check the defaults of all schemas in a graph, each against its own schema. found
// is true if the graph has a default. If all work in b exceeds MaxWork, the error is errWork.
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
