// Package procgroup recognizes a process group after the process that started the group is gone, and
// ends the remaining processes of the group.
//
// The system reuses process ids. So a group is recognized by the start time of its leader, as long as the leader
// exists. Later, each member is recognized by its environment. [Mark.End] signals no process that cannot be recognized.
// Only Linux has the necessary information; on other systems, [Of] returns an error and [Mark.End] ends no process.
package procgroup

import "errors"

// ErrUnsupported is the error of [Of] on systems on which a process group cannot be recognized.
var ErrUnsupported = errors.New("process groups cannot be recognized on this system")

// ErrStays is wrapped by the error of [Mark.End] if a process of the group does not end, not even after
// SIGKILL.
var ErrStays = errors.New("a process does not end")

// Mark identifies a process group on one machine, until the machine is restarted.
type Mark struct {
	Machine string `json:"machine"` // identifies the machine, its last start and the pid namespace
	PID     int    `json:"pid"`     // process id of the group's leader, and so the id of the group
	Start   uint64 `json:"start"`   // start time of the leader, in the kernel's ticks
}
