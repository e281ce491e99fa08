package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// pointVariable makes the test binary a hook of Claude Code that kills itself at a named point of a write.
const pointVariable = "AGENT_TEST_POINT"

func TestMain(m *testing.M) {
	point, isHook := os.LookupEnv(pointVariable)
	if !isHook {
		os.Exit(m.Run())
	}
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	agent.Hook{
		Agent: dialect.Claude, Event: "test", Input: os.Stdin, Dir: dir, Env: os.Environ(), Now: time.Now,
		Failpoint: func(name string) error {
			if name == point {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		},
	}.Run(context.Background())
}

// killedHook calls a hook in a process of its own, and reports whether the process has killed itself at the point.
func (s *session) killedHook(point, input string) bool {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), os.Args[0])
	cmd.Dir, cmd.Env, cmd.Stdin = s.Dir, append(s.Env, pointVariable+"="+point), strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.Empty(s.t, string(out))
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	require.ErrorAs(s.t, err, &exit)
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(s.t, ok)
	require.Equal(s.t, syscall.SIGKILL, status.Signal(), exit)
	return true
}

// callLines returns the lines of a transcript about the call with a number.
func callLines(number int) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","content":[{"type":"tool_use","id":"c%[1]d","name":"Bash","input":{}}]}}`+"\n"+
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":"ok %[1]d"}]}}`+"\n", number)
}

// A hook that is killed at any point of its write has made its frame or has not. The next hook goes on after the frames of all
// hooks that had ended, with each line of the conversation once, and removes what the dead process has left.
func TestAKilledHookLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"after-pack-temp", "after-pack-rename", "after-idx-rename", "before-refs", "refs-locked", "between-renames", "refs-done",
		"merge-staged", "merge-after-rename", "merge-before-removes", "merge-between-removes",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			if point == "between-renames" {
				repotest.NeedsFiles(t) // in tables, one rename moves all refs
			}
			s := newSession(t, repotest.New(t, repotest.Commit))
			s.Env = append(s.Env, "GIT_SMITHERS_FSYNC=0")
			s.event("UserPromptSubmit", `,"prompt":"write"`)
			number := 0
			call := func(at string) bool { // a batch of one call that writes its number
				number++
				s.say(callLines(number))
				s.Write("made", strconv.Itoa(number))
				return s.killedHook(at, fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"hook_event_name":"PostToolBatch"%s}`, s.transcript, batch(fmt.Sprint("c", number))))
			}
			const hooks = 40 // enough for a merge of packs
			kills := 0
			for range repotest.Size(1, 6) {
				require.False(t, call("no point"))
				ended := s.tip()
				for killed := false; !killed; {
					require.Less(t, number, hooks*(kills+1), "no hook came by the point")
					if killed = call(point); !killed {
						ended = s.tip()
					}
				}
				kills++
				assert.GreaterOrEqual(t, s.tip().Frame, ended.Frame)
				s.Git("fsck", "--strict")
			}
			require.False(t, call("no point"))
			require.Empty(t, s.last().Error)
			s.requireWhole(number)
			assert.Equal(t, strconv.Itoa(number), s.Git("show", "refs/smithers/_tip/claude-s:worktree/made"))

			s.age()
			for range hooks {
				if len(s.leftOver()) == 0 {
					break
				}
				require.False(t, call("no point"))
			}
			assert.Empty(t, s.leftOver())
			s.requireWhole(number)
		})
	}
}

// requireWhole requires that the session has every line of its transcript once, and calls 1 to count once each, all with
// results.
func (s *session) requireWhole(count int) {
	s.t.Helper()
	want, err := os.ReadFile(s.transcript)
	require.NoError(s.t, err)
	assert.Equal(s.t, string(want), strings.Join(s.said()["s"], "\n")+"\n")
	seen := make(map[string]bool)
	for _, c := range s.calls() {
		assert.False(s.t, seen[c.CallToken], "the call %s has two rows", c.CallToken)
		seen[c.CallToken] = true
		assert.NotNil(s.t, c.OutputAt, c.CallToken)
	}
	assert.Len(s.t, seen, count)
}

// age makes the files of dead processes as old as those whose processes certainly are dead.
func (s *session) age() {
	s.t.Helper()
	const longAgo = -25 * time.Hour
	for _, pattern := range []string{"smithers/tmp/unfinished-*", "objects/pack/*"} {
		files, err := filepath.Glob(filepath.Join(s.GitDir, pattern))
		require.NoError(s.t, err)
		for _, file := range files {
			then := time.Now().Add(longAgo)
			require.NoError(s.t, os.Chtimes(file, then, then))
		}
	}
}

// leftOver returns the paths of locks and of unfinished files of processes that are gone.
func (s *session) leftOver() (left []string) {
	s.t.Helper()
	for _, pattern := range []string{
		"*.lock", "refs/smithers/*/*.lock", "smithers/tmp/unfinished-*", "smithers/locks/*-*", "smithers/*.tmp", "smithers/sessions/*.tmp",
		"smithers/worktrees/*/objects-*", "objects/pack/tmp_*", "objects/pack/*.keep", "objects/pack/*.pack", "objects/??/tmp_*",
	} {
		files, err := filepath.Glob(filepath.Join(s.GitDir, pattern))
		require.NoError(s.t, err)
		for _, file := range files {
			pack, isPack := strings.CutSuffix(file, ".pack")
			_, err := os.Stat(pack + ".idx")
			switch {
			case isPack && err == nil:
			case strings.HasPrefix(filepath.Base(file), fmt.Sprint(os.Getpid(), "-")): // of this process, which reads
			default:
				left = append(left, file)
			}
		}
	}
	return left
}

// A hook that was killed between its two notes has noted the newest session, and not that this clone has recorded it.
func TestTheNextHookNotesThatASessionIsRecordedHere(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	notes, err := filepath.Glob(filepath.Join(s.GitDir, "smithers", "sessions", "recorded-*"))
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.NoError(t, os.Remove(notes[0]))
	s.event("Stop", "")
	assert.FileExists(t, notes[0])
}

// An agent can write its file anew while a hook reads it. No hook fails, and what comes after that is stored.
func TestATranscriptCanBeCutWhileAHookReadsIt(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	text := []byte(strings.Repeat(callLines(1), 4000))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for size := len(text); ; size = size*7/11 + 1000 {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(s.transcript, text[:min(size, len(text))], 0o600)
			}
		}
	}()
	for i := range repotest.Size(4, 40) {
		s.event("UserPromptSubmit", fmt.Sprintf(`,"prompt":"%d"`, i))
		assert.Empty(t, s.last().Error)
	}
	close(stop)
	<-stopped
	const last = `{"n":"the last"}`
	require.NoError(t, os.WriteFile(s.transcript, []byte(last+"\n"), 0o600))
	s.event("Stop", "")
	assert.Empty(t, s.last().Error)
	var all []string
	for _, lines := range s.said() {
		all = append(all, lines...)
	}
	assert.Contains(t, all, last)
}
