//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/modeltest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// agentHome is a coding agent with nothing but a repository, a home of its own, and a fake model.
type agentHome struct {
	*repotest.Repo

	t                       *testing.T
	home, bin, script, said string
	tool                    string   // the folder of its program in .tools
	programs                []string // the folders with its programs
	recorded                string   // a folder with the files of the working copy at each hook
}

// recorder is a shell script in the place of git-smithers. It copies the files of the working copy that are
// not ignored, and only then calls the hook.
const recorder = `#!/bin/sh
[ "$1 $2" != "session hook" ] || git ls-files -co --exclude-standard -z | tar -c --null -T - --ignore-failed-read -f "%[1]s/$(date +%%s%%N)-$$"
exec %[2]s "$@"
`

// newAgentHome returns a home for an agent, whose program is in .tools/<name>, or with AGENTS=older or AGENTS=newest in .tools/<name>-older or
// .tools/<name>-newest. In the script of the fake model, $REPO is the folder of the repository.
func newAgentHome(t *testing.T, name, script string) *agentHome {
	t.Helper()
	return newAgentHomeOf(t, name, name, script)
}

// newAgentHomeOf is newAgentHome for an agent whose program is in .tools/<tool>, or in that of the version that AGENTS says.
func newAgentHomeOf(t *testing.T, tool, name, script string) *agentHome {
	t.Helper()
	switch version := os.Getenv("AGENTS"); version {
	case "":
		t.Skip("make test-agents runs real agents")
	case "older", "newest":
		tool = name + "-" + version
	}
	programs, err := filepath.Abs(filepath.Join(".tools", tool, "node_modules", ".bin"))
	require.NoError(t, err)
	node, err := filepath.Abs(filepath.Join(".tools", "node", "node_modules", ".bin")) // is there if the machine's own is too old
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "there is no %s", name)
		t.Skip("there is no " + name)
	}
	dir := t.TempDir()
	h := &agentHome{
		Repo: repotest.New(t, repotest.Commit), t: t,
		tool: tool, programs: []string{programs, node}, home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin"), script: filepath.Join(dir, "script"), said: filepath.Join(dir, "said"),
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, folder := range []string{h.home, h.bin} {
		require.NoError(t, os.Mkdir(folder, 0o777))
	}
	h.recorded = filepath.Join(dir, "recorded")
	for _, folder := range []string{filepath.Join(dir, "self"), h.recorded} {
		require.NoError(t, os.Mkdir(folder, 0o777))
	}
	require.NoError(t, os.Symlink(self, filepath.Join(h.bin, "agent-jail")))
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "self", "git-smithers")))
	repotest.WriteProgram(t, filepath.Join(h.bin, "git-smithers"), fmt.Sprintf(recorder, h.recorded, filepath.Join(dir, "self", "git-smithers")))
	h.Env = append(h.Env, "HOME="+h.home, "PATH="+h.bin+":"+programs+":"+node+":"+os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8")
	h.say(script)
	return h
}

// say writes the script of the fake model.
func (h *agentHome) say(script string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(h.script, []byte(strings.ReplaceAll(script, "$REPO", h.Dir)), 0o600))
}

// put writes a file in the agent's home.
func (h *agentHome) put(path, text string) {
	h.t.Helper()
	path = filepath.Join(h.home, filepath.FromSlash(path))
	require.NoError(h.t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o600))
}

// smithers runs git smithers, which must succeed, and returns its output.
func (h *agentHome) smithers(args ...string) string {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "git-smithers"), args...)
	cmd.Dir, cmd.Env = h.Dir, h.Env
	out, err := cmd.Output()
	require.NoError(h.t, err, "%s", out)
	return string(out)
}

// run runs an agent in a folder, without any network but that to the fake model, and with an empty standard input.
func (h *agentHome) run(dir string, env []string, command ...string) string {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "agent-jail"), append([]string{h.script, h.said}, command...)...)
	cmd.Dir, cmd.Env = dir, append(h.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(h.t, err, "%s", out)
	return string(out)
}

// asked returns the requests that the fake model was sent.
func (h *agentHome) asked() []modeltest.Heard {
	h.t.Helper()
	data, err := os.ReadFile(h.said)
	require.NoError(h.t, err)
	var all []modeltest.Heard
	for text := range strings.Lines(string(data)) {
		var one modeltest.Heard
		require.NoError(h.t, json.Unmarshal([]byte(text), &one))
		all = append(all, one)
	}
	return all
}

// trees returns the names of the files of each frame of a run, by what the frames are about.
func (h *agentHome) trees(run string) map[string]string {
	h.t.Helper()
	frames := make(map[string]string)
	for line := range strings.Lines(h.Git("log", "--format=%H %s", "refs/smithers/_tip/"+run)) {
		commit, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		frames[subject] = h.Git("ls-tree", "--name-only", commit+":worktree")
	}
	return frames
}

// tree returns the names of the files of the frame whose subject has the text.
func tree(frames map[string]string, text string) string {
	for subject, names := range frames {
		if strings.Contains(subject, text) {
			return names
		}
	}
	return "no frame"
}

// A course is what session what-if --json says.
type course struct {
	Dir, Run, Session string
	Command           []string
}

// whatIf takes another course from a frame.
func (h *agentHome) whatIf(from, prompt string) (c course) {
	h.t.Helper()
	require.NoError(h.t, json.Unmarshal([]byte(h.smithers("session", "what-if", from, prompt, "--json")), &c))
	return c
}

// checkCourse checks what another course has made: a file in its own folder and not in the former one, and a turn of a fork of run.
func (h *agentHome) checkCourse(c course, run string) {
	h.t.Helper()
	assert.FileExists(h.t, filepath.Join(c.Dir, "other.txt"))
	assert.NoFileExists(h.t, filepath.Join(h.Dir, "other.txt"))
	timeline := h.smithers("timeline", c.Run)
	assert.Contains(h.t, timeline, "WHAT-IF please")
	assert.Contains(h.t, timeline, "session ended")
	assert.Contains(h.t, h.smithers("branches", run), c.Run)
	h.smithers("verify")
}

// checkDisable checks that session disable removes all that session enable has made.
func (h *agentHome) checkDisable(agent string) {
	h.t.Helper()
	assert.DirExists(h.t, filepath.Join(h.Dir, "."+agent))
	h.smithers("session", "disable", agent)
	assert.NoDirExists(h.t, filepath.Join(h.Dir, "."+agent))
}

// checkFrames checks that each frame of a run has exactly the files that the recorder saw at a hook.
func (h *agentHome) checkFrames(run string) {
	h.t.Helper()
	seen := make(map[string]bool)
	copies, err := filepath.Glob(filepath.Join(h.recorded, "*"))
	require.NoError(h.t, err)
	for _, path := range copies {
		file, err := os.Open(path)
		require.NoError(h.t, err)
		seen[filesOf(h.t, file)] = true
		require.NoError(h.t, file.Close())
	}
	frames := 0
	for entry := range strings.FieldsSeq(h.Git("log", "--format=%H", "refs/smithers/_tip/"+component(h.t, run))) {
		cmd := exec.Command("git", "archive", entry+":worktree")
		cmd.Dir, cmd.Env = h.Dir, h.Env
		archive, err := cmd.Output()
		require.NoError(h.t, err)
		assert.True(h.t, seen[filesOf(h.t, bytes.NewReader(archive))], "%s has other files: %s", entry, h.Git("log", "-1", "--format=%s", entry))
		frames++
	}
	assert.GreaterOrEqual(h.t, len(copies), frames)
}

// filesOf returns the names and the texts of the files in an archive.
func filesOf(t *testing.T, archive io.Reader) string {
	t.Helper()
	files := make(map[string]string)
	for in := tar.NewReader(archive); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		files[strings.TrimPrefix(header.Name, "./")] = string(text)
	}
	text, err := json.Marshal(files) // its keys are sorted
	require.NoError(t, err)
	return string(text)
}

// checkWhole checks that the rows of a session's transcript are the agent's own file, if neither secrets nor anything else is left out of them. ask
// runs the agent with a prompt, and pattern matches the agent's files in its home.
func (h *agentHome) checkWhole(agent, pattern string, ask func(prompt string)) {
	h.t.Helper()
	h.Git("config", "smithers.session.transcript", "full")
	h.Git("config", "smithers.secrets", "off")
	before := h.files(pattern)
	ask("TASK-WHOLE")
	after := h.files(pattern)
	maps.DeleteFunc(after, func(path, _ string) bool { _, old := before[path]; return old })
	require.Len(h.t, after, 1, "one new file")
	for path, text := range after {
		stored := h.stored(agent)
		require.NotEmpty(h.t, stored)
		// What the agent writes after its last hook comes with the next one.
		rest, ok := strings.CutPrefix(text, stored)
		assert.True(h.t, ok, "%s: %d of %d bytes", path, len(stored), len(text))
		assert.NotContains(h.t, rest, "TASK-WHOLE")
	}
}

// stored returns the lines of the transcript of an agent's newest session in the repository.
func (h *agentHome) stored(agent string) string {
	h.t.Helper()
	s, err := timeline.Open(h.t.Context(), timeline.Options{Dir: h.Dir, Env: h.Env, Now: time.Now})
	require.NoError(h.t, err)
	defer func() { assert.NoError(h.t, s.Close()) }()
	run := strings.Fields(h.smithers("runs", "--sessions"))[0]
	require.True(h.t, strings.HasPrefix(run, agent+"-"), run)
	head, err := s.Head(h.t.Context(), run)
	require.NoError(h.t, err)
	rows, err := head.Entry().Transcript()
	require.NoError(h.t, err)
	var out strings.Builder
	for row, err := range rows.Rows() {
		require.NoError(h.t, err)
		lines, err := snapshot.DecodeTranscript(row)
		require.NoError(h.t, err)
		for _, line := range lines {
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// files returns the texts of the files in the agent's home that match a pattern, by their paths.
func (h *agentHome) files(pattern string) map[string]string {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.home, filepath.FromSlash(pattern)))
	require.NoError(h.t, err)
	texts := make(map[string]string)
	for _, path := range paths {
		texts[path] = read(h.t, path)
	}
	return texts
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}
