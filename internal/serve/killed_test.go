package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/serve"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/timeline"
)

// pointVariable makes the test binary a server that kills itself when a write comes by the named point for the time that
// timesVariable says.
const (
	pointVariable = "SERVE_TEST_POINT"
	timesVariable = "SERVE_TEST_TIMES"
)

func TestMain(m *testing.M) {
	point, isServer := os.LookupEnv(pointVariable)
	if !isServer {
		os.Exit(m.Run())
	}
	left, _ := strconv.Atoi(os.Getenv(timesVariable)) // the test sets it
	s, err := timeline.Open(context.Background(), timeline.Options{
		Dir: ".", Env: os.Environ(), Now: time.Now, LateNames: true,
		Failpoint: func(name string) error {
			if name == point {
				if left--; left == 0 {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
			}
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	if err := serve.New(langgraph.Open(s), "test", "process").Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
}

// process starts a server in a process of its own.
func process(t *testing.T, repo *repotest.Repo, point string, times int) (*client, *exec.Cmd) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Dir = repo.Dir
	cmd.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0", pointVariable+"="+point, timesVariable+"="+strconv.Itoa(times))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &client{t: t, stdin: in, out: bufio.NewReader(out)}, cmd
}

// A server that is killed at any point of a write has stored the put or has not. Its client sends again what was not answered,
// and nothing that was acknowledged is missing.
func TestAServerThatIsKilledAtAPointLosesNothingAcknowledged(t *testing.T) {
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
			repo := repotest.New(t, repotest.Commit)
			puts := repotest.Size(20, 60) // enough for merges of packs
			kills, stored := 0, 0
			for kill := 1; stored < puts; kill++ {
				times := kill%3 + 1
				if strings.HasPrefix(point, "merge-") {
					times = 1 // a merge is after a burst, and there may be only one
				}
				c, cmd := process(t, repo, point, times)
				alive := c.tries(helloCall)
				for alive && stored < puts {
					id := fmt.Sprintf("%03d", stored)
					alive = c.tries(putCall(1, "t", id, 5), `"`+id+`"`) &&
						c.tries(`{"id":2,"method":"putWrites","params":{"thread":"t","ns":"","id":"`+id+`","task":"t","writes":[{"idx":0,"channel":"a","type":"json"}]},"blobs":[1]}`, "1")
					if alive {
						stored++
					}
				}
				_ = c.stdin.Close()
				if err := cmd.Wait(); err != nil {
					kills++
				}
				require.Less(t, kill, 4*puts)
			}
			assert.Positive(t, kills, "no write came by the point")
			c, cmd := process(t, repo, "no point", 0)
			require.True(t, c.tries(helloCall))
			for i := range puts {
				id := fmt.Sprintf("%03d", i)
				r := c.call(fmt.Sprintf(`{"id":1,"method":"getTuple","params":{"thread":"t","ns":"","id":%q}}`, id))
				assert.ElementsMatch(t, []string{`"` + id + `"`, "1"}, r.data)
			}
			require.NoError(t, c.stdin.Close())
			require.NoError(t, cmd.Wait())
			repo.Git(repotest.Fsck(repo.GitDir)...)
		})
	}
}

// A server that is killed while it drops checkpoints leaves all of them or the latest alone, and can drop them again.
func TestAServerThatIsKilledWhileItPrunesLeavesAWholeThread(t *testing.T) {
	t.Parallel()
	const pruneCall = `{"id":1,"method":"prune","params":{"threads":["t"],"strategy":"keep_latest"}}`
	const listCall = `{"id":2,"method":"list","params":{"thread":"t"}}`
	for _, point := range []string{"after-pack-temp", "after-pack-rename", "after-idx-rename", "before-refs", "refs-locked", "between-renames", "refs-done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			if point == "between-renames" {
				repotest.NeedsFiles(t) // in tables, one rename moves all refs
			}
			repo := repotest.New(t, repotest.Commit)
			c, cmd := process(t, repo, "no point", 0)
			require.True(t, c.tries(helloCall))
			for i := range 5 {
				require.True(t, c.tries(putCall(1, "t", strconv.Itoa(i), 1), strconv.Itoa(i)))
			}
			require.NoError(t, c.stdin.Close())
			require.NoError(t, cmd.Wait())

			killed := false
			for times := 1; times <= 3; times++ {
				c, cmd = process(t, repo, point, times)
				require.True(t, c.tries(helloCall))
				_ = c.tries(pruneCall)
				_ = c.stdin.Close()
				killed = cmd.Wait() != nil || killed
				repo.Git(repotest.Fsck(repo.GitDir)...)
			}
			assert.True(t, killed, "the prune did not come by the point")

			c, cmd = process(t, repo, "no point", 0)
			require.True(t, c.tries(helloCall))
			require.True(t, c.tries(pruneCall))
			var tuples []struct{ ID string }
			r := c.call(listCall)
			require.NoError(t, json.Unmarshal(r.Result["tuples"], &tuples))
			require.Len(t, tuples, 1)
			assert.Equal(t, "4", tuples[0].ID)
			assert.Equal(t, []string{"4"}, r.data)
			require.NoError(t, c.stdin.Close())
			require.NoError(t, cmd.Wait())
			s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
			require.NoError(t, err)
			report, err := verify.Runs(t.Context(), s)
			require.NoError(t, err)
			assert.Empty(t, report.Problems)
			require.NoError(t, s.Close())
		})
	}
}

// A server that is killed while it does the calls of a log leaves all of them done or to be done: the next one does the rest, each once.
func TestAServerThatIsKilledWhileItDoesTheCallsOfALogLosesNone(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-pack-temp", "after-pack-rename", "after-idx-rename", "before-refs", "refs-locked", "between-renames", "refs-done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			if point == "between-renames" {
				repotest.NeedsFiles(t) // in tables, one rename moves all refs
			}
			repo := repotest.New(t, repotest.Commit)
			c, cmd := process(t, repo, "no point", 0)
			log := c.helloLog("")
			c.begin("t")
			require.NoError(t, c.stdin.Close())
			require.NoError(t, cmd.Wait())

			puts := repotest.Size(40, 200)
			kills, noted := 0, 0
			for kill := 1; noted < puts; kill++ {
				c, cmd := process(t, repo, point, kill%3+1)
				alive := c.tries(fmt.Sprintf(helloLogCall, log.Name))
				for alive && noted < puts {
					for range 1 + kill%3 {
						noted++
						log.append(nextCall("t", noted, strconv.Itoa(noted)), writesCall("t", noted))
					}
					alive = c.tries(`{"id":1,"method":"publish","params":{}}`)
				}
				_ = c.stdin.Close()
				if err := cmd.Wait(); err != nil {
					kills++
				}
				require.Less(t, kill, 4*puts)
			}
			assert.Positive(t, kills, "no write came by the point")
			require.NoError(t, serve.PublishCalls(t.Context(), openStore(t, repo)))
			assert.EqualValues(t, noted, frames(t, repo))
			c, cmd = process(t, repo, "no point", 0)
			require.True(t, c.tries(helloCall))
			for n := 1; n <= noted; n++ {
				assert.ElementsMatch(t, []string{strconv.Itoa(n), "7"}, c.tuple("t", n))
			}
			require.NoError(t, c.stdin.Close())
			require.NoError(t, cmd.Wait())
			sound(t, repo)
		})
	}
}
