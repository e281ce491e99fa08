// Package procgroup recognizes a process group after the process that started it is gone, and ends
// the rest of the group.
//
// The system reuses process numbers. So a group is recognized by the start time of its leader, as
// long as the leader exists. Later, each member is recognized by its environment. A process that
// cannot be recognized is left alone. Only Linux has the necessary information; elsewhere nothing
// is marked and nothing is ended.
package procgroup

import "errors"

// ErrUnsupported is returned on systems on which a process group cannot be recognized.
var ErrUnsupported = errors.New("process groups cannot be known again on this system")

// ErrStays is wrapped if a process of a group does not end.
var ErrStays = errors.New("a process does not end")

// Mark identifies a process group on one machine, until the machine is restarted.
type Mark struct {
	Machine string `json:"machine"` // identifies the machine, its start and the pid namespace
	PID     int    `json:"pid"`     // of the group's leader
	Start   uint64 `json:"start"`   // start time of the leader, in the kernel's ticks
}
