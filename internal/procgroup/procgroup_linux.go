package procgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// poll is the time between two checks of End whether a group is gone.
const poll = 5 * time.Millisecond

// Of returns the mark of the group that a process leads. The process must not have been waited for
// yet, so that its number is still its own.
func Of(leader int) (Mark, error) {
	where, err := machine()
	if err != nil {
		return Mark{}, err
	}
	s, err := statOf(leader)
	return Mark{where, leader, s.start}, err
}

// machine identifies this start of this machine, and the pid namespace of this process.
func machine() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space, err
}

// End asks the processes of the group to end, and kills those that have not ended after the grace.
// It returns their number when all are gone. If ctx ends, so does the grace. If the leader is gone,
// only processes count that have all of env in their environment. The group of this process is left
// alone.
func (m Mark) End(ctx context.Context, env []string, grace time.Duration) (int, error) {
	if here, err := machine(); err != nil || here != m.Machine || syscall.Getpgrp() == m.PID {
		return 0, err
	}
	patience, over := context.WithTimeout(ctx, grace)
	defer over()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	asked := make(map[stat]bool)
	for rounds := int(2*grace/poll) + 2*int(time.Second/poll); rounds > 0; rounds-- {
		members, err := m.members(env, asked)
		if err != nil || len(members) == 0 {
			return len(asked), err
		}
		err = signal(members, asked, patience.Err() != nil)
		if err != nil {
			return len(asked), err
		}
		<-tick.C
	}
	return len(asked), fmt.Errorf("group %d: %w", m.PID, ErrStays)
}

// signal asks those processes to end that were not asked yet, or kills all of them, and releases
// them.
func signal(members []member, asked map[stat]bool, kill bool) error {
	var errs []error
	for _, p := range members {
		sig := syscall.SIGTERM
		if kill {
			sig = syscall.SIGKILL
		}
		if kill || !asked[p.stat] {
			if err := p.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
				errs = append(errs, fmt.Errorf("process %d: %w", p.pid, err))
			}
			asked[p.stat] = true
		}
		errs = append(errs, p.process.Release())
	}
	return errors.Join(errs...)
}

// member is a process of the group. It is held, so that its number stays its own.
type member struct {
	stat
	process *os.Process
}

// members returns the living processes of the group. A process that was recognized once stays a
// member, because an exiting process has no environment any more.
func (m Mark) members(env []string, known map[stat]bool) ([]member, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []member
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, ok := m.hold(pid, env, known); ok {
			found = append(found, p)
		}
	}
	return found, nil
}

// hold holds a process if it is a living process of the group.
func (m Mark) hold(pid int, env []string, known map[stat]bool) (member, bool) {
	before, err := statOf(pid)
	if err != nil || before.group != m.PID || before.dead {
		return member{}, false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return member{}, false
	}
	// From here on its number cannot become another process's.
	if after, err := statOf(pid); err == nil && after == before && (known[before] || m.led() || hasEnv(pid, env)) {
		return member{before, process}, true
	}
	_ = process.Release() // it was only looked at
	return member{}, false
}

// led reports whether the group's leader still exists, even if it is dead and was not waited for.
// Then every process of the group is the leader's.
func (m Mark) led() bool {
	s, err := statOf(m.PID)
	return err == nil && s.start == m.Start
}

// hasEnv reports whether a process was started with all of env. While a process becomes another
// program, its environment is empty or incomplete, so it is read again before the answer is no.
func hasEnv(pid int, env []string) bool {
	if len(env) == 0 {
		return false
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 20 {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err != nil {
			return false
		}
		if containsAll(bytes.Split(data, []byte{0}), env) {
			return true
		}
		<-tick.C
	}
	return false
}

func containsAll(given [][]byte, env []string) bool {
	return !slices.ContainsFunc(env, func(want string) bool {
		return !slices.ContainsFunc(given, func(have []byte) bool { return string(have) == want })
	})
}

// stat is a part of /proc/<pid>/stat.
type stat struct {
	pid   int
	group int
	start uint64
	dead  bool // it has ended, and its parent has not waited for it
}

// statOf reads /proc/<pid>/stat. The error is fs.ErrNotExist if there is no such process.
func statOf(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, syscall.ESRCH) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return stat{}, err
	}
	// The second field is a name in parentheses, with any characters.
	const state, group, start = 0, 2, 19
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= start {
		return stat{}, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	s := stat{pid: pid, dead: fields[state] == "Z" || fields[state] == "X"}
	if s.group, err = strconv.Atoi(fields[group]); err != nil {
		return stat{}, err
	}
	s.start, err = strconv.ParseUint(fields[start], 10, 64)
	return s, err
}
