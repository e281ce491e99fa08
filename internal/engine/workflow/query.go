package workflow

import (
	"fmt"

	"github.com/expr-lang/expr"
)

// Query is an expression over names that its caller defines. It has the language and the limits of a condition: a member of null is null,
// and the name outputs must be followed by a table. Safe for concurrent use.
type Query struct {
	expression
}

// CompileQuery compiles an expression over the names in env, whose values only say which types the names have. The result of the
// expression may be of any type.
func CompileQuery(text string, env map[string]any) (*Query, error) {
	e, err := compileExpression(text, env)
	if err != nil {
		return nil, err
	}
	return &Query{*e}, nil
}

// CompileTest compiles an expression like CompileQuery, and refuses one whose result cannot be boolean.
func CompileTest(text string, env map[string]any) (*Query, error) {
	e, err := compileExpression(text, env, expr.AsBool())
	if err != nil {
		return nil, err
	}
	return &Query{*e}, nil
}

// Value returns the value of the expression. env has the names of CompileQuery with their values: decoded JSON, as schema.DecodeValue
// returns it, and functions.
func (q *Query) Value(env map[string]any) (any, error) { return q.run(env) }

// Holds reports whether the value of the expression is true. Null counts as false. The error names a value that is neither.
func (q *Query) Holds(env map[string]any) (bool, error) {
	value, err := q.run(env)
	if err != nil {
		return false, err
	}
	return truth(value)
}

// truth returns a boolean value. Null is false, and any other value is an error.
func truth(value any) (bool, error) {
	switch v := value.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return false, fmt.Errorf("the result is %s, neither true nor false", describe(value))
}
