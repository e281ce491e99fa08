package transport_test

import (
	"bufio"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// serve runs a git daemon for the repositories beside origin until the test ends, and
// returns the address it listens at.
func serve(t *testing.T, origin *repotest.Repo) (address string) {
	t.Helper()
	// The daemon does not say which port it got, so one is looked for that is free.
	for range 20 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address = listener.Addr().String()
		require.NoError(t, listener.Close())
		if startDaemon(t, origin, address) {
			return address
		}
	}
	t.Fatal("no git daemon would start")
	return ""
}

func startDaemon(t *testing.T, origin *repotest.Repo, address string) bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	// The git that is asked for a daemon starts another process, which would outlive it.
	daemon := exec.Command(filepath.Join(origin.Git("--exec-path"), "git-daemon"), "--verbose", "--export-all", "--enable=receive-pack", "--reuseaddr",
		"--listen="+host, "--port="+port, "--base-path="+filepath.Dir(origin.Dir))
	daemon.Env = origin.Env
	said, err := daemon.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, daemon.Start())
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "Ready to rumble") {
			break
		}
		if err != nil {
			_ = daemon.Wait()
			return false
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		reading.Wait()
		_ = daemon.Wait()
	})
	return true
}

// localSSH is env with an ssh that runs its command here, and nothing of the machine's.
func localSSH(t *testing.T, env []string) []string {
	t.Helper()
	ssh := filepath.Join(t.TempDir(), "ssh")
	repotest.WriteProgram(t, ssh, "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do [ \"$1\" != -o ] || shift; shift; done\nshift\nexec sh -c \"$*\"\n")
	return append(env, "GIT_SSH_COMMAND="+ssh, "GIT_SSH_VARIANT=ssh")
}

func TestEveryKindOfServerTakesAndGives(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T, origin *repotest.Repo) string{
		"path": func(_ *testing.T, origin *repotest.Repo) string { return origin.Dir },
		"file": func(_ *testing.T, origin *repotest.Repo) string { return "file://" + origin.Dir },
		"daemon": func(t *testing.T, origin *repotest.Repo) string {
			t.Helper()
			return "git://" + serve(t, origin) + "/" + filepath.Base(origin.Dir)
		},
		"ssh":      func(_ *testing.T, origin *repotest.Repo) string { return "ssh://git@localhost" + origin.Dir },
		"scp-like": func(_ *testing.T, origin *repotest.Repo) string { return "localhost:" + origin.Dir },
	} {
		for _, newer := range []bool{false, true} {
			t.Run(name+"/newer="+strconv.FormatBool(newer), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 10)
				if newer {
					w.UseNewerGit()
				}
				w.Env = localSSH(t, w.Env)
				remote := url(t, w.origin)
				exchange(t, w, remote)
			})
		}
	}
}

// exchange pushes, lists, fetches and deletes.
func exchange(t *testing.T, w *world, remote string) {
	t.Helper()
	to := open(t, w.Repo, func(o *transport.Options) { o.Chunk = 4 })
	moves := append(frames(t, w.commits), tip(t, "run", w.commits[9]))
	outcomes, err := to.Push(t.Context(), remote, moves)
	require.NoError(t, err)
	assert.Equal(t, 11, count(outcomes, transport.Moved))
	again, err := to.Push(t.Context(), remote, moves)
	require.NoError(t, err)
	assert.Equal(t, 11, count(again, transport.UpToDate))

	found, err := to.List(t.Context(), remote, "refs/smithers/_tip/")
	require.NoError(t, err)
	assert.Equal(t, []refs.Ref{{Name: refstest.Tip(t, "run"), ID: w.commits[9]}}, found)

	colleague := refstest.New(t)
	colleague.Env = w.Env
	from := open(t, colleague, nil)
	require.NoError(t, from.Fetch(t.Context(), remote, []transport.Spec{allTips, allGone}, true))
	assert.Equal(t, map[refs.Name]objstore.ID{remoteTip(t, "run"): w.commits[9]}, has(t, colleague))
	err = from.Fetch(t.Context(), remote, []transport.Spec{{From: "refs/smithers/_tip/no", To: "refs/smithers-remote/origin/no"}}, false)
	require.ErrorIs(t, err, refs.ErrNotFound)

	outcomes, err = from.Push(t.Context(), remote, []transport.Move{
		{Name: refstest.Tip(t, "run"), How: transport.Delete, Old: w.commits[9]},
		{Name: refstest.Frame(t, "run", 3), How: transport.Delete, Old: w.commits[0]},
	})
	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved, transport.Stale}, statuses(outcomes))
	assert.Len(t, has(t, w.origin), 10)
}

// A cut is a way to a server that breaks, in both directions, after so many bytes up or
// down.
type cut struct {
	net.Listener

	up, down         atomic.Int64 // bytes that went so far
	maxUp, maxDown   int64
	server           string
	connections, all sync.WaitGroup
}

// cutAt serves a way to server until the test ends.
func cutAt(t *testing.T, server string, maxUp, maxDown int64) *cut {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cut{Listener: listener, maxUp: maxUp, maxDown: maxDown, server: server}
	c.all.Go(func() {
		for {
			client, err := c.Accept()
			if err != nil {
				return
			}
			c.connections.Go(func() { c.carry(client) })
		}
	})
	t.Cleanup(c.stop)
	return c
}

func (c *cut) stop() {
	_ = c.Close()
	c.all.Wait()
	c.connections.Wait()
}

func (c *cut) carry(client net.Conn) {
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		_ = client.Close()
		return
	}
	hangUp := func() { _, _ = client.Close(), server.Close() }
	var both sync.WaitGroup
	both.Go(func() { c.copy(server, client, &c.up, c.maxUp, hangUp) })
	both.Go(func() { c.copy(client, server, &c.down, c.maxDown, hangUp) })
	both.Wait()
	hangUp()
}

// copy carries what comes until the limit, where everything breaks.
func (c *cut) copy(to io.Writer, from io.Reader, count *atomic.Int64, limit int64, hangUp func()) {
	buffer := make([]byte, 64)
	for {
		n, err := from.Read(buffer)
		n = int(min(int64(n), limit-count.Load()))
		_, _ = to.Write(buffer[:n])
		if count.Add(int64(n)) >= limit {
			hangUp()
			return
		}
		if err != nil {
			if half, ok := to.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}

// cuts are limits to the bytes up and down, of which one is somewhere between nothing and
// what it took without.
func cuts(up, down int64) [][2]int64 {
	const parts = 6
	var list [][2]int64
	for i := range int64(parts) {
		list = append(list, [2]int64{up*(i+1)/(parts+1) + 1, unlimited}, [2]int64{unlimited, down*(i+1)/(parts+1) + 1})
	}
	return list
}

const unlimited = 1 << 40

func TestAPushThatTheNetworkCutsIsDoneByTheSamePushAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6)
	daemon := serve(t, w.origin)
	path := "/" + filepath.Base(w.origin.Dir)
	moves := append(frames(t, w.commits[:5]), tip(t, "run", w.commits[4]))
	to := open(t, w.Repo, func(o *transport.Options) { o.Chunk = 3 })
	whole := cutAt(t, daemon, unlimited, unlimited)
	_, err := to.Push(t.Context(), "git://"+whole.Addr().String()+path, moves)
	require.NoError(t, err)
	want := has(t, w.origin)

	for _, limits := range cuts(whole.up.Load(), whole.down.Load()) {
		for name := range has(t, w.origin) {
			w.origin.Git("update-ref", "-d", string(name))
		}
		broken := cutAt(t, daemon, limits[0], limits[1])
		outcomes, err := to.Push(t.Context(), "git://"+broken.Addr().String()+path, moves)
		require.ErrorIs(t, err, transport.ErrRemote, "cut at %v", limits)
		broken.stop()
		for _, outcome := range outcomes {
			assert.Equal(t, transport.Moved, outcome.Status)
			assert.Equal(t, outcome.New, has(t, w.origin)[outcome.Name], "what was said to have moved has")
		}

		again, err := to.Push(t.Context(), "git://"+daemon+path, moves)

		require.NoError(t, err)
		assert.Equal(t, len(moves), count(again, transport.Moved)+count(again, transport.UpToDate))
		assert.Equal(t, want, has(t, w.origin), "nothing is missing or doubled")
	}
}

func TestAFetchThatTheNetworkCutsBringsNothingAndIsDoneByTheSameFetchAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20)
	w.origin.Git("fetch", "--quiet", w.Dir, "refs/held/line:refs/smithers/_tip/a")
	daemon := serve(t, w.origin)
	path := "/" + filepath.Base(w.origin.Dir)
	fetch := func(address string) (map[refs.Name]objstore.ID, error) {
		colleague := refstest.New(t)
		from := open(t, colleague, nil)
		err := from.Fetch(t.Context(), "git://"+address+path, []transport.Spec{allTips}, true)
		if err != nil {
			assert.Empty(t, has(t, colleague))
			require.NoError(t, from.Fetch(t.Context(), "git://"+daemon+path, []transport.Spec{allTips}, true))
		}
		return has(t, colleague), err
	}
	whole := cutAt(t, daemon, unlimited, unlimited)
	want, err := fetch(whole.Addr().String())
	require.NoError(t, err)

	for _, limits := range cuts(whole.up.Load(), whole.down.Load()) {
		got, err := fetch(cutAt(t, daemon, limits[0], limits[1]).Addr().String())
		require.ErrorIs(t, err, transport.ErrRemote, "cut at %v", limits)
		assert.Equal(t, want, got)
	}
}
