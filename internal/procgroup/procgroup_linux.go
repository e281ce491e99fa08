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

// poll is the time between two searches of End for the remaining processes.
const poll = 5 * time.Millisecond

// Of returns the Mark of the process group whose leader has the process id leader. The caller must not have waited
// for the leader yet. Otherwise another process may have got the same id.
func Of(leader int) (Mark, error) {
	where, err := machine()
	if err != nil {
		return Mark{}, err
	}
	s, err := statOf(leader)
	return Mark{where, leader, s.start}, err
}

// Boot returns a text that identifies this machine and its last start, or "" if it is unknown.
func Boot() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(boot))
}

// machine returns a text that identifies this machine, its last start and the pid namespace of this
// process.
func machine() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space, err
}

// End sends SIGTERM to the processes of the group. After grace, or after the end of ctx, it sends SIGKILL to the
// processes that still exist. It waits until all processes are gone, at most for about twice the grace plus two
// seconds. It returns the number of processes that it signaled. If a process still exists after this time, the error
// wraps [ErrStays].
//
// If the leader is gone, a process counts as a member only if its environment has all of env. End does nothing if the
// Mark is from another machine or an earlier start of this machine, or if this process is in the group.
func (m Mark) End(ctx context.Context, env []string, grace time.Duration) (int, error) {
	if foreign, err := m.foreign(); foreign || err != nil {
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
	return len(asked), fmt.Errorf("process group %d: %w", m.PID, ErrStays)
}

// foreign reports whether the Mark is from another machine or an earlier start of this machine, or whether this process is in the group.
func (m Mark) foreign() (bool, error) {
	here, err := machine()
	return here != m.Machine || syscall.Getpgrp() == m.PID, err
}

// Living reports whether a process of the group exists that End would signal.
func (m Mark) Living(env []string) (bool, error) {
	if foreign, err := m.foreign(); foreign || err != nil {
		return false, err
	}
	members, err := m.members(env, nil)
	for _, p := range members {
		err = errors.Join(err, p.process.Release())
	}
	return len(members) > 0, err
}

// signal sends SIGKILL to every member if kill is true. Otherwise it sends SIGTERM to each member that is not in asked.
// It adds the signaled members to asked. Then it releases the handles of all members, and the caller must not use these
// handles again. The error joins the failures; a member that has ended is not a failure.
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

// member is a living process of the group. Its handle process never refers to another process, even if
// the system reuses the process id.
type member struct {
	stat
	process *os.Process
}

// members returns the living processes of the group. If the group's leader is gone, a process counts only if its
// environment has all of env, or if it is in known. known has the members that End has signaled. They stay members,
// because a process that is exiting has no environment. The caller must release the handles of the members.
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

// hold opens the process with the id pid, and returns it with true if it is a living process of the group. If the
// process has ended or is not in the group, hold returns false. If the group's leader is gone, the process counts
// only if its environment has all of env, or if known has the process.
func (m Mark) hold(pid int, env []string, known map[stat]bool) (member, bool) {
	before, err := statOf(pid)
	if err != nil || before.group != m.PID || before.dead {
		return member{}, false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return member{}, false
	}
	// The handle stays with one process. If the process id still has the same start time now, the handle belongs to the
	// process that the first statOf saw.
	if after, err := statOf(pid); err == nil && after == before && (known[before] || m.led() || hasEnv(pid, env)) {
		return member{before, process}, true
	}
	_ = process.Release() // the process is not a member
	return member{}, false
}

// led reports whether the leader of the group still exists, even as a dead process that no process has
// waited for. As long as the leader exists, the system does not reuse the id of the group, so all its
// processes are members.
func (m Mark) led() bool {
	s, err := statOf(m.PID)
	return err == nil && s.start == m.Start
}

// hasEnv reports whether the environment of a process has all of env. While a process starts another program, its
// environment is empty or incomplete. Therefore hasEnv tries for 20 ms before it returns false. It returns false at
// once if env is empty or the environment is unreadable.
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

// containsAll reports whether given, the entries of an environment, has every entry of env.
func containsAll(given [][]byte, env []string) bool {
	return !slices.ContainsFunc(env, func(want string) bool {
		return !slices.ContainsFunc(given, func(have []byte) bool { return string(have) == want })
	})
}

// stat has the fields of /proc/<pid>/stat that identify a process.
type stat struct {
	pid   int
	group int    // id of the process group
	start uint64 // start time in the kernel's ticks
	dead  bool   // the process has ended, and its parent has not waited for it
}

// statOf returns the state, the group and the start time of a process, from /proc/<pid>/stat. If there is no such
// process, the error wraps fs.ErrNotExist.
func statOf(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, syscall.ESRCH) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return stat{}, err
	}
	// The second field is a name in parentheses, which may have any characters. So fields are counted from
	// the last parenthesis.
	const state, group, start = 0, 2, 19
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= start {
		return stat{}, fmt.Errorf("/proc/%d/stat has too few fields: %d", pid, len(fields))
	}
	s := stat{pid: pid, dead: fields[state] == "Z" || fields[state] == "X"}
	if s.group, err = strconv.Atoi(fields[group]); err != nil {
		return stat{}, err
	}
	s.start, err = strconv.ParseUint(fields[start], 10, 64)
	return s, err
}
