// Package procgroup knows a process group again after whoever started it is gone, and
// ends what is left of it.
//
// Numbers of processes are used again. A group is known by when its leader started, as
// long as that is there, and after that its members by their environment, one by one. What
// cannot be told is left alone. Only Linux tells; elsewhere nothing is marked and nothing
// is ended.
package procgroup

import "errors"

// ErrUnsupported says that process groups cannot be known again on this system.
var ErrUnsupported = errors.New("process groups cannot be known again on this system")

// ErrStays says that something of a group could not be ended.
var ErrStays = errors.New("a process does not end")

// Mark names a process group, on one machine until that is started anew.
type Mark struct {
	Machine string `json:"machine"` // which start of which machine, and which of its pid namespaces
	PID     int    `json:"pid"`     // of the group's leader
	Start   uint64 `json:"start"`   // when that started, in the kernel's ticks
}
