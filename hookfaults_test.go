package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// patient is a session of Claude Code whose hooks meet faults.
type patient struct {
	*repotest.Repo

	t          *testing.T
	program    string
	transcript string
	user       *syscall.Credential // of the processes; nil for the user of this one
	limit      string              // of the size of files, in units of ulimit -f; "" for none
	env        []string
	round      int
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	repo := repotest.New(t, repotest.Commit)
	p := &patient{Repo: repo, t: t, program: filepath.Join(repo.Home, "git-smithers"), transcript: filepath.Join(repo.Home, "t.jsonl")}
	self, err := exec.LookPath("git-smithers")
	require.NoError(t, err)
	if err := os.Link(self, p.program); err != nil { // another file system
		program, err := os.ReadFile(self)
		require.NoError(t, err)
		repotest.WriteProgram(t, p.program, string(program))
	}
	p.env = append(repo.Env, "GIT_SMITHERS_FSYNC=0", "GORACE=atexit_sleep_ms=0")
	if os.Getuid() != 0 {
		return p
	}
	// Permissions do not stop root, so the processes are somebody else's.
	p.user = &syscall.Credential{Uid: 65534, Gid: 65534}
	for dir := filepath.Dir(repo.Dir); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755)) // the way there
	}
	for _, root := range []string{repo.Dir, repo.Home} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || path == p.program {
				return err
			}
			return os.Lchown(path, int(p.user.Uid), int(p.user.Gid))
		}))
	}
	repo.Env = append(repo.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*") // for root
	return p
}

// run runs git-smithers as the patient's user.
func (p *patient) run(input string, args ...string) (status int, out string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.program, args...)
	if p.limit != "" {
		cmd = exec.CommandContext(p.t.Context(), "/bin/sh", slices.Concat([]string{"-c", "ulimit -f " + p.limit + `; exec "$0" "$@"`, p.program}, args)...)
	}
	cmd.Dir, cmd.Env, cmd.Stdin = p.Dir, p.env, strings.NewReader(input)
	if p.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	}
	var talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &talk, &talk
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(p.t, err)
	}
	return cmd.ProcessState.ExitCode(), talk.String()
}

// hook calls a hook. It must say nothing and succeed.
func (p *patient) hook(event, members string) {
	p.t.Helper()
	status, out := p.run(fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"hook_event_name":%q%s}`, p.transcript, event, members), "session", "hook", "claude", event)
	require.Zero(p.t, status, out)
	require.Empty(p.t, out)
}

// batch is a batch of one call, whose lines are in the transcript, and which has written its id to the file "made".
func (p *patient) batch() (id string) {
	p.t.Helper()
	p.round++
	id = fmt.Sprint("c", p.round)
	p.Write("made", id)
	if info, err := os.Stat(p.transcript); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0 { // else the fault is its
		file, err := os.OpenFile(p.transcript, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(p.t, err)
		_, err = fmt.Fprintf(file, `{"type":"assistant","message":{"id":"m%s","content":[{"type":"tool_use","id":%[1]q,"name":"Bash","input":{}}]}}`+"\n"+
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%[1]q,"content":"ok"}]}}`+"\n", id)
		require.NoError(p.t, err)
		require.NoError(p.t, file.Close())
	}
	p.hook("PostToolBatch", `,"tool_calls":[{"tool_name":"Bash","tool_use_id":"`+id+`"}]`)
	return id
}

// made returns what the session's frame of a call has in the file "made", or "" if there is no such frame.
func (p *patient) made(id string) string {
	out, err := p.GitErr("log", "--format=%H", "--fixed-strings", "--grep=Smithers-Id: "+id, "refs/smithers/_tip/claude-s")
	if err != nil || out == "" {
		return ""
	}
	text, _ := p.GitErr("show", out+":worktree/made")
	return text
}

// fault is something that stands in the way of a hook.
type fault struct {
	name   string
	begin  func(p *patient)
	end    func(p *patient)
	frame  bool   // the hook makes its frame all the same
	lines  bool   // the fault is the transcript's, so that the session's lines are not those of the file
	status string // what session status says afterwards; "" if nothing can be known
}

// sessions is the folder with the notes and the log of hooks.
func (p *patient) sessions() string { return filepath.Join(p.GitDir, "smithers", "sessions") }

// mode sets the permissions of folders and files below a folder.
func (p *patient) mode(root string, folder, file os.FileMode) {
	p.t.Helper()
	require.NoError(p.t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.Chmod(path, folder)
		default:
			return os.Chmod(path, file)
		}
	}))
}

// aside moves a file away until the fault ends.
func (p *patient) aside(path string) { require.NoError(p.t, os.Rename(path, path+".aside")) }

// back puts a file back.
func (p *patient) back(path string) {
	require.NoError(p.t, os.RemoveAll(path))
	require.NoError(p.t, os.Rename(path+".aside", path))
}

// hide hides the transcript behind something else.
func hide(other func(path string) error) func(p *patient) {
	return func(p *patient) {
		p.aside(p.transcript)
		require.NoError(p.t, other(p.transcript))
	}
}

// found is the end of a fault that hide has begun.
func found(p *patient) { p.back(p.transcript) }

// unset removes variables from the environment, and changes others.
func unset(change string, names ...string) func(p *patient) {
	return func(p *patient) {
		p.env = slices.DeleteFunc(slices.Clone(p.env), func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return slices.Contains(names, name)
		})
		p.env = append(p.env, change)
	}
}

// sound is the environment without a fault.
func sound(p *patient) {
	p.env = append(slices.Clone(p.Env), "GIT_SMITHERS_FSYNC=0", "GORACE=atexit_sleep_ms=0")
}

var faults = []fault{
	{
		name: "the disk is full",
		begin: func(p *patient) {
			p.limit = "100"
			noise := make([]byte, 400_000)
			_, err := rand.Read(noise)
			require.NoError(p.t, err)
			p.Write("large", string(noise))
		},
		end:    func(p *patient) { p.limit = "" },
		status: "file too large",
	},
	{
		name:  "nothing can be written",
		begin: func(p *patient) { p.limit = "0" },
		end:   func(p *patient) { p.limit = "" },
	},
	{
		name:  "the git directory is read-only",
		begin: func(p *patient) { p.mode(p.GitDir, 0o555, 0o444) },
		end:   func(p *patient) { p.mode(p.GitDir, 0o755, 0o644) },
	},
	{
		name:  "somebody holds the index",
		begin: func(p *patient) { p.Write(".git/index.lock", "") },
		end:   func(p *patient) { require.NoError(p.t, os.Remove(filepath.Join(p.GitDir, "index.lock"))) },
		frame: true,
	},
	{
		name:  "somebody holds the run",
		begin: func(p *patient) { p.Write(".git/refs/smithers/_tip/claude-s.lock", "") },
		end: func(p *patient) {
			require.NoError(p.t, os.Remove(filepath.Join(p.GitDir, "refs/smithers/_tip/claude-s.lock")))
		},
		status: "locked",
	},
	{
		name:  "the folder of notes is unreadable",
		begin: func(p *patient) { require.NoError(p.t, os.Chmod(p.sessions(), 0)) },
		end:   func(p *patient) { require.NoError(p.t, os.Chmod(p.sessions(), 0o700)) },
		frame: true,
	},
	{
		name: "the folder of notes is a file",
		begin: func(p *patient) {
			p.aside(p.sessions())
			require.NoError(p.t, os.WriteFile(p.sessions(), nil, 0o644))
		},
		end:   func(p *patient) { p.back(p.sessions()) },
		frame: true,
	},
	{name: "there is no HOME", begin: unset("X=y", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"), end: sound, frame: true},
	{name: "there is no git", begin: unset("PATH=/nowhere", "PATH"), end: sound},
	{
		name:   "the transcript is a pipe",
		begin:  hide(func(path string) error { return syscall.Mkfifo(path, 0o666) }),
		end:    found,
		frame:  true,
		status: "t.jsonl is not a file",
	},
	{
		name:   "the transcript is a folder",
		begin:  hide(func(path string) error { return os.Mkdir(path, 0o777) }),
		end:    found,
		frame:  true,
		status: "t.jsonl is not a file",
	},
	{
		name:   "the transcript is unreadable",
		begin:  hide(func(path string) error { return os.WriteFile(path, nil, 0) }),
		end:    found,
		frame:  true,
		status: "permission denied",
	},
	{name: "the transcript is gone", begin: hide(func(string) error { return nil }), end: found, frame: true},
	{
		name:  "the transcript is cut",
		begin: func(p *patient) { require.NoError(p.t, os.Truncate(p.transcript, 100)) },
		end:   func(*patient) {},
		frame: true,
		lines: true,
	},
}

// A fault costs at most the frames of its hooks: the agent hears nothing of it, and the session goes on when it is over.
func TestAnAgentHearsNothingOfAFault(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			require.NoError(t, os.WriteFile(p.transcript, nil, 0o644))
			p.hook("UserPromptSubmit", `,"prompt":"write"`)
			first := p.batch()
			require.Equal(t, first, p.made(first))

			f.begin(p)
			during := p.batch()
			f.end(p)
			after := p.batch()

			assert.Equal(t, f.frame, p.made(during) == during, "the frame of the hook with the fault")
			assert.Equal(t, after, p.made(after))
			if f.status != "" {
				_, out := p.run("", "session", "status")
				assert.Contains(t, out, f.status)
			}
			if !f.lines {
				store, err := timeline.Open(t.Context(), timeline.Options{Dir: p.Dir, Env: p.Env, Now: time.Now})
				require.NoError(t, err)
				head, err := store.Head(t.Context(), "claude-s")
				require.NoError(t, err)
				assert.Equal(t, readText(t, p.transcript), saidBy(t, head.Entry()))
				require.NoError(t, store.Close())
			}
			status, out := p.run("", "verify")
			assert.Zero(t, status, out)
		})
	}
}
