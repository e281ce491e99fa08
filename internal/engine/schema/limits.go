package schema

import "fmt"

// Limits of the schemas of one workflow file or form.
const (
	maxBytes        = 4 << 20   // bytes of one schema as JSON
	maxSchemas      = 20_000    // number of schemas, including subschemas
	maxPointerBytes = 32 << 20  // bytes of the JSON pointers of all schemas
	maxPatternBytes = 10_000    // bytes of one pattern
	maxPatternSize  = 1_000_000 // instructions of all patterns
)

// Limits of checks, in steps. A step is a tenth of a microsecond on a slow machine.
const (
	MaxWork       = 50_000_000    // for all defaults of a file, or for a value from outside
	maxOutputWork = 1_000_000_000 // for an output, because the command that wrote the output had no time limit either

	stepsPerSchema = 30      // steps to apply a schema to a value
	bytesPerStep   = 8       // bytes of a value that are compared in a step
	programPerStep = 8       // instructions of a pattern that run in a step, for each byte of a text
	maxDepth       = 100_000 // schemas that are being applied at once
)

// LimitError means that a schema, or a check, is beyond a limit. What is the message, and Hint says what a
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
	// Stored means that the schemas are those of a run. They may have keywords of other drafts, which check nothing.
	Stored bool

	schemas, pointers, patterns int   // schemas, bytes of pointers, and instructions of patterns
	spent                       int64 // steps that checked the defaults
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
