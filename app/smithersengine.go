package app

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// engineGrace is how long Smithers may take to end after an interrupt, before it is killed. Smithers itself needs
// five seconds at most.
const engineGrace = 20 * time.Second

// smithersEngine is the program of Smithers, and the folder in which it starts.
type smithersEngine struct {
	program []string // the program to start, and its first arguments
	command string   // the given or configured shell command; "" if there is none
	bin     string   // the folder in which npm installed the program; "" for any other program
	dir     string   // the folder in which Smithers starts, without symbolic links
	env     []string
}

// line returns the command line that starts Smithers with args, as people type it in e.dir.
func (e *smithersEngine) line(args ...string) string {
	switch {
	case e.command != "":
		return fault.CommandLine(e.command, args...)
	case e.bin != "":
		return `PATH="$PATH":` + fault.Word(e.bin) + " " + fault.CommandLine(EngineSmithers, args...)
	}
	return fault.CommandLine(EngineSmithers, args...)
}

// findEngine returns the program of Smithers. This is command, or the configured command if command is "". If neither
// is set, it is the npm package installed beside or above the workflow file, else the program on PATH. dir becomes the
// folder in which Smithers starts.
//
// The error is engine_missing if no command is set and no program is found. A command is not checked; see
// smithersEngine.check.
func (d *Desk) findEngine(command, workflow, dir string) (*smithersEngine, error) {
	out := &smithersEngine{dir: dir, env: d.taskEnv()}
	if command == "" {
		command, _ = d.Store.Repo().Config.Get("smithers.engineCommand")
	}
	if command != "" {
		out.program, out.command = []string{"sh", "-c", command + ` "$@"`, "sh"}, command
		return out, nil
	}
	for folder := filepath.Dir(workflow); ; folder = filepath.Dir(folder) {
		bin := filepath.Join(folder, "node_modules", ".bin")
		if program, err := exec.LookPath(filepath.Join(bin, "smithers")); err == nil {
			out.program, out.bin, out.env = []string{program}, bin, withPath(out.env, bin)
			return out, nil
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	program, err := gitexec.Find(out.env, "smithers")
	if err != nil {
		return nil, fault.New(fault.EngineMissing, "Smithers is not installed: there is no smithers in a node_modules/.bin above %s, nor on PATH", workflow).
			Hint("install Smithers beside the workflow with `npm install smithers-orchestrator`, or name its command with --engine-command")
	}
	out.program = []string{program}
	return out, nil
}

// withPath returns a copy of env with folder added to the end of PATH, because a program that npm installed may need
// the programs beside it.
func withPath(env []string, folder string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
	path := folder
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value + string(filepath.ListSeparator) + folder
		}
	}
	return append(out, "PATH="+path)
}

// database returns the path of the database that Smithers uses by itself. The database is in the nearest folder with a
// folder .smithers, from e.dir upwards and below home. Folders inside of a folder .smithers do not count. If no folder
// counts, the database is in e.dir. If home is "", the search goes up to the top of the file system.
func (e *smithersEngine) database(home string) string {
	anchor := e.dir
	for dir := e.dir; below(home, dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(filepath.Join(dir, ".smithers"))
		if err == nil && info.IsDir() && !slices.Contains(strings.Split(dir, string(filepath.Separator)), ".smithers") {
			anchor = dir
			break
		}
	}
	return filepath.Join(anchor, "smithers.db")
}

// below reports whether dir is inside of home. home itself and the top of the file system do not count. If home is
// "", every folder but the top counts.
func below(home, dir string) bool {
	if dir == filepath.Dir(dir) {
		return false
	}
	if home == "" {
		return true
	}
	rel, err := filepath.Rel(filepath.Clean(home), dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// run starts Smithers with args, waits for its end, and returns its exit status, or -1 if Smithers did not exit by
// itself. The caller judges the status. The error is engine_failed if Smithers could not be started or awaited. The
// teller receives every line that Smithers writes.
//
// The end of ctx interrupts Smithers only once, since a second interrupt would stop it at once. If Smithers has not
// ended after engineGrace, or if d.Hurry ends, it is killed.
func (e *smithersEngine) run(ctx context.Context, d *Desk, args ...string) (status int, err error) {
	cmd := exec.CommandContext(ctx, e.program[0], append(slices.Clone(e.program[1:]), args...)...)
	cmd.Dir, cmd.Env = e.dir, e.env
	lines := &lineTeller{ctx: ctx, teller: d.Teller}
	cmd.Stdout, cmd.Stderr = lines, lines // one writer for both, so exec writes from one goroutine
	apart(cmd)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = engineGrace
	if err := cmd.Start(); err != nil {
		return -1, fault.New(fault.EngineFailed, "start Smithers: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-d.Hurry.Done():
			kill(cmd.Process)
		case <-ended:
		}
	}()
	err = cmd.Wait()
	close(ended)
	lines.end()
	if cmd.ProcessState == nil {
		return -1, fault.New(fault.EngineFailed, "Smithers: %w", err)
	}
	return cmd.ProcessState.ExitCode(), nil // the caller judges the status
}

// lineTeller passes the lines that another program writes to a Teller. Only one goroutine may use it at a time.
type lineTeller struct {
	ctx    context.Context // a field, because Write takes no context
	teller Teller
	rest   []byte // the beginning of a line that has not ended
}

// Write passes on every whole line of p, and keeps the rest for the next call. It passes on an unfinished line once
// this has 64 KiB, as if the line had ended. It never fails, so that Smithers can always write.
func (w *lineTeller) Write(p []byte) (int, error) {
	const longest = 1 << 16
	w.rest = append(w.rest, p...)
	for {
		line, rest, ended := bytes.Cut(w.rest, []byte{'\n'})
		if !ended && len(line) < longest {
			return len(p), nil
		}
		w.teller.Note(w.ctx, EngineSaidNote{string(line)})
		w.rest = rest
	}
}

// end passes on the kept beginning of a line, if there is one. Call it after the last Write.
func (w *lineTeller) end() {
	if len(w.rest) > 0 {
		w.teller.Note(w.ctx, EngineSaidNote{string(w.rest)})
	}
}
