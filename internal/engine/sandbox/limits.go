package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cgroupRoot is where cgroups are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// cpuPeriod is the period of a limit of processor time, in microseconds.
const cpuPeriod = 100_000

// limits are the cgroups that hold a command.
type limits struct {
	folders []string // the folders of the groups; none without limits
	prefix  []string // the program that enters the limits and runs the rest; nil if the shell enters the folders
}

// limit makes groups with the limits of the Spec, by version 1 of cgroups, by systemd, or by version 2. The error is an *Error if none of
// them can.
func (s *Spec) limit(ctx context.Context) (*limits, error) {
	if s.Memory == 0 && s.Processes == 0 && s.CPU == 0 {
		return &limits{}, nil
	}
	var why []error
	for _, way := range []func(context.Context) (*limits, error){s.limitV1, s.limitSystemd, s.limitV2} {
		got, err := way(ctx)
		if err == nil {
			return got, nil
		}
		why = append(why, err)
	}
	return nil, cannot("this machine cannot limit memory, processes or processor time: %s", strings.ReplaceAll(errors.Join(why...).Error(), "\n", "; "))
}

// name returns a new name for a group.
func name() string { return "smithers-" + strings.ToLower(rand.Text()) }

// controller is a controller of cgroups with the files to write.
type controller struct {
	name  string
	files [][2]string // name and content
	maybe [][2]string // those that a kernel may lack
}

// limitV1 makes a group for each controller of version 1.
func (s *Spec) limitV1(context.Context) (*limits, error) {
	own, err := groupsOf("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var wanted []controller
	if s.Memory > 0 {
		bytes := number(s.Memory)
		wanted = append(wanted, controller{"memory", [][2]string{{"memory.limit_in_bytes", bytes}}, [][2]string{{"memory.memsw.limit_in_bytes", bytes}}})
	}
	if s.Processes > 0 {
		wanted = append(wanted, controller{"pids", [][2]string{{"pids.max", number(int64(s.Processes) + 2)}}, nil})
	}
	if s.CPU > 0 {
		wanted = append(wanted, controller{"cpu", [][2]string{{"cpu.cfs_period_us", number(cpuPeriod)}, {"cpu.cfs_quota_us", number(int64(s.CPU * cpuPeriod))}}, nil})
	}
	out := &limits{}
	for _, c := range wanted {
		if err := out.add(filepath.Join(cgroupRoot, c.name, own[c.name], name()), c); err != nil {
			return nil, errors.Join(fmt.Errorf("cgroups v1: %w", err), out.remove())
		}
	}
	return out, nil
}

// add makes a group and writes its files.
func (l *limits) add(folder string, c controller) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	l.folders = append(l.folders, folder)
	for _, file := range c.files {
		if err := os.WriteFile(filepath.Join(folder, file[0]), []byte(file[1]), 0o644); err != nil {
			return err
		}
	}
	for _, file := range c.maybe {
		path := filepath.Join(folder, file[0])
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := os.WriteFile(path, []byte(file[1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// groupsOf returns the group of a process in each hierarchy of version 1, by controller. A controller of a container may be mounted at its
// root, so a group whose folder does not exist is the root.
func groupsOf(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	groups := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			path := parts[2]
			if _, err := os.Stat(filepath.Join(cgroupRoot, controller, path)); err != nil {
				path = "/"
			}
			groups[controller] = path
		}
	}
	return groups, nil
}

// limitSystemd lets systemd make the group, in the user's own instance if this process is not root's.
func (s *Spec) limitSystemd(ctx context.Context) (*limits, error) {
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil, errors.New("systemd: there is no systemd-run")
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil, errors.New("systemd does not run")
	}
	prefix := []string{run, "--scope", "--quiet", "--collect"}
	if os.Geteuid() != 0 {
		prefix = append(prefix, "--user")
	}
	if s.Memory > 0 {
		prefix = append(prefix, "--property=MemoryMax="+number(s.Memory), "--property=MemorySwapMax=0")
	}
	if s.Processes > 0 {
		prefix = append(prefix, "--property=TasksMax="+number(int64(s.Processes)+2))
	}
	if s.CPU > 0 {
		prefix = append(prefix, fmt.Sprintf("--property=CPUQuota=%d%%", int64(s.CPU*100)))
	}
	prefix = append(prefix, "--")
	// A user's instance may lack controllers, and would then leave the limit out.
	cmd := exec.CommandContext(ctx, prefix[0], append(prefix[1:len(prefix):len(prefix)], "/bin/sh", "-c", s.held())...)
	cmd.Dir = "/" // a PATH may lead to a stranger's files, from there
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("systemd: %s", lastLine(out, err))
	}
	return &limits{prefix: prefix}, nil
}

// held returns a line for sh that fails unless its group of version 2 has the limits.
func (s *Spec) held() string {
	parts := []string{`at=` + cgroupRoot + `$(sed -n s/^0:://p /proc/self/cgroup)`}
	for file, wanted := range map[string]bool{"memory.max": s.Memory > 0, "pids.max": s.Processes > 0, "cpu.max": s.CPU > 0} {
		if wanted {
			parts = append(parts, `! grep -q ^max "$at/`+file+`"`)
		}
	}
	return strings.Join(parts, " && ")
}

// limitV2 makes a group below the own one of version 2, if that has the controllers.
func (s *Spec) limitV2(context.Context) (*limits, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	_, own, found := strings.Cut(string(data), "0::")
	if !found {
		return nil, errors.New("cgroups v2: this process is in no group")
	}
	own, _, _ = strings.Cut(own, "\n")
	c := controller{name: "v2"}
	if s.Memory > 0 {
		c.files = append(c.files, [2]string{"memory.max", number(s.Memory)})
		c.maybe = append(c.maybe, [2]string{"memory.swap.max", "0"})
	}
	if s.Processes > 0 {
		c.files = append(c.files, [2]string{"pids.max", number(int64(s.Processes) + 2)})
	}
	if s.CPU > 0 {
		c.files = append(c.files, [2]string{"cpu.max", fmt.Sprintf("%d %d", int64(s.CPU*cpuPeriod), cpuPeriod)})
	}
	out := &limits{}
	if err := out.add(filepath.Join(cgroupRoot, own, name()), c); err != nil {
		return nil, errors.Join(fmt.Errorf("cgroups v2: %w", err), out.remove())
	}
	return out, nil
}

// enter returns a line for sh that enters the limits and becomes the program. If it cannot enter them, the program does not run.
func (l *limits) enter(program []string) string {
	var line strings.Builder
	for _, folder := range l.folders {
		line.WriteString("echo $$ >" + quote(filepath.Join(folder, "cgroup.procs")) + " && ")
	}
	line.WriteString("exec " + quoteAll(append(slices.Clone(l.prefix), program...)))
	return line.String()
}

// remove removes the groups. The processes of a group may take a moment to be gone.
func (l *limits) remove() error {
	var all []error
	for _, folder := range l.folders {
		err := os.Remove(folder)
		for range 50 {
			if err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			<-time.After(10 * time.Millisecond)
			err = os.Remove(folder)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
