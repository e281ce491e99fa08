package timeline_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A copy of a repository whose process logs has everything that was acknowledged before, also if its files are links; and neither
// the copy nor the repository changes what the other has.
func TestACopyOfARepositoryWithLogsHasWhatTheyHave(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("whether a process is stopped is read in /proc")
	}
	for _, how := range []string{"-a", "-al"} {
		for _, point := range []string{"publish-packed", "journal-written", "publish-moved", "publish-hint"}[:repotest.Size(2, 4)] {
			t.Run(how+"/"+point, func(t *testing.T) {
				t.Parallel()
				repo := repotest.New(t)
				cmd := again(t.Context(), repo, "logged", stopVariable+"="+point)
				out, err := os.Create(filepath.Join(t.TempDir(), "said"))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, out.Close()) })
				said := func() []string {
					text, err := os.ReadFile(out.Name())
					require.NoError(t, err)
					return strings.Fields(string(text))
				}
				cmd.Stdout = out
				require.NoError(t, cmd.Start())
				require.Eventually(t, func() bool { return isStopped(cmd.Process.Pid) }, 20*time.Second, 5*time.Millisecond)
				before := said()

				copied := repotest.New(t)
				require.NoError(t, os.RemoveAll(copied.Dir))
				complaint, err := exec.Command("cp", how, repo.Dir, copied.Dir).CombinedOutput()
				require.NoError(t, err, "%s", complaint)
				logs := logFiles(t, copied)
				require.Len(t, logs, 1)
				bytesBefore, err := os.ReadFile(logs[0])
				require.NoError(t, err)

				require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
				require.Eventually(t, func() bool { return len(said()) > len(before) }, 20*time.Second, 5*time.Millisecond, "the process goes on")
				if how == "-al" && point != "publish-moved" && point != "publish-packed" { // there the process is about to write its mark
					now, err := os.ReadFile(logs[0])
					require.NoError(t, err)
					assert.True(t, bytes.Equal(bytesBefore, now), "the process that meets a link to its log leaves it as it is")
				}
				if how == "-al" {
					// The process writes its note of its locks in place, so nobody sees to whom a link to a lock belongs. doctor
					// removes it when it is ten minutes old.
					locks, err := filepath.Glob(filepath.Join(copied.GitDir, "refs", "smithers", "*", "*.lock"))
					require.NoError(t, err)
					for _, lock := range locks {
						require.NoError(t, os.Remove(lock))
					}
				}
				there := open(t, copied)
				requireThere(t, copied, before)
				head := headOf(t, there, "run")
				require.NoError(t, head.Append(t.Context(), snapshot.Draft{Operation: "in the copy", Frame: &snapshot.FrameDraft{}}))
				time.Sleep(100 * time.Millisecond)
				require.NoError(t, cmd.Process.Kill())
				_ = cmd.Wait()

				all := said()
				if len(all) > 0 && len(all[len(all)-1]) < 40 {
					all = all[:len(all)-1] // the last line can be cut off
				}
				requireThere(t, repo, all)
				requireThere(t, copied, append(before, head.Entry().ID.String()))
				require.NoError(t, open(t, copied).Close())
				assert.Empty(t, logFiles(t, copied), "the owner of the log is dead")
				assert.Empty(t, logFiles(t, repo))
				requireHealthy(t, copied)
				requireHealthy(t, repo)
			})
		}
	}
}

// Copies that are made while frames are logged and published do not harm the repository, whatever they have caught.
func TestCopiesInALoopDoNotHarmARepositoryWithLogs(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := openLogging(t, repo, nil)
	head := logFrames(t, s, 1)
	var all []string
	folder := t.TempDir()
	for i := range repotest.Size(12, 100) {
		copying := exec.Command("cp", []string{"-r", "-al"}[i%2], repo.GitDir, filepath.Join(folder, string(rune('a'+i%26))+strings.Repeat("x", i/26)))
		require.NoError(t, copying.Start())
		for n := range 10 {
			logFrame(t, head, n)
			all = append(all, head.Entry().ID.String())
		}
		_ = copying.Wait() // files vanish while they are copied
	}
	require.NoError(t, s.Close())
	assert.Empty(t, logFiles(t, repo))
	requireThere(t, repo, all)
}
