package cli

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
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// engineGrace is how long Smithers has to end a run when it is asked to; it takes five seconds at most
// by itself.
const engineGrace = 20 * time.Second

// smithersEngine is Smithers' own program, and where it is started.
type smithersEngine struct {
	program []string // the program and its first arguments
	command string   // that a shell is given; "" where there is none
	bin     string   // the folder of what npm has installed, where it is from there
	dir     string   // the folder it is started in, without links
	env     []string
}

// line is how people start Smithers with arguments, in the folder that it is started in.
func (e *smithersEngine) line(args ...string) string {
	switch {
	case e.command != "":
		return commandLine(e.command, args...)
	case e.bin != "":
		return `PATH="$PATH":` + fault.Word(e.bin) + " " + commandLine(engineSmithers, args...)
	}
	return commandLine(engineSmithers, args...)
}

// findEngine finds Smithers: the command line that was given or configured, else what is
// installed for the workflow, else what is on PATH.
func (s *session) findEngine(store *timeline.Store, command, workflow, dir string) (*smithersEngine, error) {
	out := &smithersEngine{dir: dir, env: s.taskEnv()}
	if command == "" {
		command, _ = s.lookupEnv("GIT_SMITHERS_ENGINE_COMMAND")
	}
	if command == "" {
		command, _ = store.Parts().Repo.Config.Get("smithers.engineCommand")
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
			Hint("install it beside the workflow with `npm install smithers-orchestrator`, or name it with --engine-command")
	}
	out.program = []string{program}
	return out, nil
}

// withPath is an environment with one more folder at the end of PATH: what npm has installed
// there may need what else it has installed there.
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

// database is the one that Smithers uses in the folder that it is started in: in the nearest folder above
// that has .smithers, below the user's own folder, or in the folder itself.
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

// below tells whether dir is inside of home, and neither that nor the top. Where home is "",
// everything is.
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

// run starts Smithers with arguments and waits for its end. What it writes is talk. When ctx ends, it
// is asked to end, once: it takes being asked twice for an order to stop at once, which
// the end of s.hurry is. status is -1 where it did not exit by itself.
func (e *smithersEngine) run(ctx context.Context, s *session, args ...string) (status int, err error) {
	cmd := exec.CommandContext(ctx, e.program[0], append(slices.Clone(e.program[1:]), args...)...)
	cmd.Dir, cmd.Env = e.dir, e.env
	talk := &talkWriter{s: s}
	cmd.Stdout, cmd.Stderr = talk, talk // the same: then exec writes from one goroutine
	apart(cmd)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = engineGrace
	if err := cmd.Start(); err != nil {
		return -1, fault.New(fault.EngineFailed, "start Smithers: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-s.hurry.Done():
			kill(cmd.Process)
		case <-ended:
		}
	}()
	err = cmd.Wait()
	close(ended)
	talk.end()
	if cmd.ProcessState == nil {
		return -1, fault.New(fault.EngineFailed, "Smithers: %w", err)
	}
	return cmd.ProcessState.ExitCode(), nil // how it ended is no error of ours
}

// engineLine is a line that Smithers wrote, for scripts.
type engineLine struct {
	Kind string `json:"kind"`
	Line string `json:"line"`
}

// talkWriter passes on the lines that another program writes, made safe to show. For one goroutine at a time.
type talkWriter struct {
	s    *session
	rest []byte // of a line that has not ended
}

// Write never fails: talk that nobody can read is no reason to stop.
func (w *talkWriter) Write(p []byte) (int, error) {
	const longest = 1 << 16
	w.rest = append(w.rest, p...)
	for {
		line, rest, ended := bytes.Cut(w.rest, []byte{'\n'})
		if !ended && len(line) < longest {
			return len(p), nil
		}
		w.say(string(line))
		w.rest = rest
	}
}

// end passes on what did not end in a line feed.
func (w *talkWriter) end() {
	if len(w.rest) > 0 {
		w.say(string(w.rest))
	}
}

func (w *talkWriter) say(text string) {
	for _, line := range plainLines(text) {
		if w.s.json {
			w.s.talkJSON(engineLine{"engine", line})
		} else {
			w.s.talk("%s\n", line)
		}
	}
}
