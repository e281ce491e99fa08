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

// line returns the command line that starts Smithers with args, as a user types it in the folder e.dir. For a program
// that npm installed, the command line adds the folder of the program to PATH.
func (e *smithersEngine) line(args ...string) string {
	switch {
	case e.command != "":
		return fault.CommandLine(e.command, args...)
	case e.bin != "":
		return `PATH="$PATH":` + fault.Word(e.bin) + " " + fault.CommandLine(EngineSmithers, args...)
	}
	return fault.CommandLine(EngineSmithers, args...)
}

// findEngine returns the program of Smithers. It uses the first of these that exists: the shell command in command, the
// shell command in the setting smithers.engineCommand, the program that npm installed beside or above the workflow
// file, and the program on PATH. workflow is the absolute path of the workflow file. dir is the folder in which
// Smithers will start.
//
// The error is engine_missing if there is no command and no program. findEngine does not check that a command works;
// see smithersEngine.check.
func (d *Desk) findEngine(command, workflow, dir string) (*smithersEngine, error) {
	out := &smithersEngine{dir: dir, env: d.taskEnv()}
	if command == "" {
		command, _ = d.Store.Repo().Config.Get("smithers.engineCommand")
	}
	if command != "" {
		// The shell puts the arguments of Smithers in place of "$@". The second "sh" is only the shell's $0.
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

// withPath returns a copy of env with folder added to the end of PATH. A program that npm installed may need the other
// programs in this folder. If env has several entries for PATH, the last one counts.
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

// database returns the path of the database that Smithers uses by default. It searches from e.dir upwards for the
// nearest folder that contains a folder .smithers and is not itself inside of a folder .smithers. The database is in
// this folder. The search considers only folders inside of the folder home; if home is "", it considers all folders
// except the top of the file system. If the search finds no folder, the database is in e.dir.
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

// below reports whether the folder dir is inside of the folder home. It returns false for home itself and for the top
// of the file system. If home is "", below returns true for every folder except the top.
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

// run starts Smithers with args, waits for its end, and returns its exit status. The status is -1 if a signal killed
// Smithers. Any status is a result and not an error: the caller judges it. The error is engine_failed if Smithers could
// not be started, or if run could not wait for it. The teller receives every line that Smithers writes.
//
// If ctx ends, run interrupts Smithers once; a second interrupt would make Smithers stop at once. If Smithers has not
// ended engineGrace later, or if d.Hurry ends, run kills Smithers.
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

// Write passes every whole line to the teller, and keeps the unfinished line at the end of p for the next call. If an
// unfinished line reaches 64 KiB, Write passes it to the teller as a line of its own. Write never returns an error, so
// that Smithers can always write.
func (w *lineTeller) Write(p []byte) (int, error) {
	const longest = 1 << 16 // 64 KiB
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

// end passes the unfinished line that Write has kept to the teller, if there is one. The caller must call end after the
// last Write.
func (w *lineTeller) end() {
	if len(w.rest) > 0 {
		w.teller.Note(w.ctx, EngineSaidNote{string(w.rest)})
	}
}
