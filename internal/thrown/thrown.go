// Package thrown carries a panic to the goroutine that reports it.
package thrown

import (
	"fmt"
	"runtime/debug"
)

// Error is a recovered panic with the stack at which it began.
type Error struct {
	Value any    // the argument of panic
	Stack []byte // as debug.Stack returns it
}

// Error returns the value of the panic as text.
func (e *Error) Error() string { return fmt.Sprint(e.Value) }

// Catch calls f and returns f's error. If f panics, Catch recovers and returns an *Error. If f panics with an *Error,
// Catch returns this *Error, which has the stack of the first panic.
func Catch(f func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *Error: // another Catch has recovered this panic before
			err = value
		default:
			err = &Error{value, debug.Stack()}
		}
	}()
	return f()
}
