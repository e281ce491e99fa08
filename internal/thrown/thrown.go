// Package thrown carries a panic to the goroutine that reports it.
package thrown

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic with its stack.
type Error struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic.
func (e *Error) Error() string { return fmt.Sprint(e.Value) }

// Catch runs f and turns a panic into an *Error. An *Error that is thrown again keeps its stack.
func Catch(f func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *Error: // thrown again, from another goroutine
			err = value
		default:
			err = &Error{value, debug.Stack()}
		}
	}()
	return f()
}
