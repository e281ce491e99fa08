package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/serve"
	"github.com/git-smithers/git-smithers/timeline"
)

// client speaks to a server, byte for byte.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	stdin io.WriteCloser // of a server in a process of its own; in is nil then
	out   *bufio.Reader
	done  chan error
}

// input returns where calls are written to.
func (c *client) input() io.WriteCloser {
	if c.stdin != nil {
		return c.stdin
	}
	return c.in
}

// tries calls a server that may be killed meanwhile, and reports whether it has answered without an error.
func (c *client) tries(line string, blobs ...string) bool {
	c.t.Helper()
	if _, err := io.WriteString(c.input(), line+"\n"+strings.Join(blobs, "")); err != nil {
		return false
	}
	answer, err := c.out.ReadBytes('\n')
	if err != nil {
		return false
	}
	var r reply
	require.NoError(c.t, json.Unmarshal(answer, &r), "%s", answer)
	require.Nil(c.t, r.Error, "%s", answer)
	return true
}

// reply is an answer with its blobs.
type reply struct {
	ID     *int64
	Result map[string]json.RawMessage
	Error  *struct {
		Code, Message string
		Hints         []string
	}
	Blobs []int

	data []string
}

const helloCall = `{"id":0,"method":"hello","params":{"protocol":1,"client":{"name":"test","version":"1"}}}`

// newClient starts a server for a repository. The server must end when the client does.
func newClient(t *testing.T, repo *repotest.Repo) *client {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=0"), Now: time.Now})
	require.NoError(t, err)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1)}
	go func() {
		err := serve.New(langgraph.Open(s), "test", "process").Serve(t.Context(), inR, outW)
		_ = outW.Close()
		_ = inR.Close()
		c.done <- err
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		go func() { _, _ = io.Copy(io.Discard, outR) }()
		select {
		case err := <-c.done:
			c.done <- err
		case <-time.After(time.Minute):
			t.Error("the server did not end with its input")
		}
		assert.NoError(t, s.Close())
	})
	return c
}

// send writes a message.
func (c *client) send(line string, blobs ...string) {
	c.t.Helper()
	go func() { _, _ = io.WriteString(c.input(), line+"\n"+strings.Join(blobs, "")) }()
}

// receive reads an answer.
func (c *client) receive() reply {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	require.NoError(c.t, err)
	var r reply
	require.NoError(c.t, json.Unmarshal(line, &r), "%s", line)
	for _, n := range r.Blobs {
		blob := make([]byte, n)
		_, err := io.ReadFull(c.out, blob)
		require.NoError(c.t, err)
		r.data = append(r.data, string(blob))
	}
	return r
}

// call sends a message and reads the answer.
func (c *client) call(line string, blobs ...string) reply {
	c.t.Helper()
	c.send(line, blobs...)
	return c.receive()
}

// hello says hello.
func (c *client) hello() {
	c.t.Helper()
	require.Nil(c.t, c.call(helloCall).Error)
}

// putCall is a call that puts a checkpoint with one channel.
func putCall(call int, thread, id string, size int) string {
	return fmt.Sprintf(`{"id":%d,"method":"put","params":{"thread":%q,"ns":"","id":%q,"checkpoint":{"v":4,"channel_versions":{"a":1}},`+
		`"metadata":{},"present":["a"],"sent":[{"channel":"a","type":"json"}]},"blobs":[%d]}`, call, thread, id, size)
}

func TestThePageOfTheProtocol(t *testing.T) {
	t.Parallel()
	c := newClient(t, repotest.New(t, repotest.Commit))
	r := c.call(helloCall)
	assert.JSONEq(t, `1`, string(r.Result["protocol"]))
	assert.JSONEq(t, `"process"`, string(r.Result["durability"]))

	r = c.call(putCall(1, "t", "1", 5), `"abc"`)
	require.Nil(t, r.Error)
	assert.JSONEq(t, `0`, string(r.Result["frame"]))
	r = c.call(`{"id":2,"method":"getTuple","params":{"thread":"t","ns":"","id":""}}`)
	assert.Equal(t, []string{`"abc"`}, r.data)
	r = c.call(`{"id":3,"method":"list","params":{"limit":0}}`)
	assert.JSONEq(t, `[]`, string(r.Result["tuples"]))
	r = c.call(`{"id":4,"method":"flush","params":{}}`)
	assert.Equal(t, int64(4), *r.ID)
	assert.Nil(t, r.Error)
}

func TestCallsAboutOneThreadTakeEffectInTheirOrder(t *testing.T) {
	t.Parallel()
	c := newClient(t, repotest.New(t, repotest.Commit))
	c.hello()
	var all bytes.Buffer
	const calls = 30
	for i := range calls {
		fmt.Fprintf(&all, "%s\n%03d", strings.Replace(putCall(i, "t", "same", 3), `"v":4`, `"v":5`, 1), i+100)
	}
	fmt.Fprintf(&all, "%s\n", `{"id":99,"method":"getTuple","params":{"thread":"t","ns":"","id":""}}`)
	go func() { _, _ = all.WriteTo(c.in) }()
	for range calls {
		require.Nil(t, c.receive().Error)
	}
	assert.Equal(t, []string{strconv.Itoa(calls + 99)}, c.receive().data)
}

func TestBadCallsAreRefusedAndTheServerGoesOn(t *testing.T) {
	t.Parallel()
	c := newClient(t, repotest.New(t, repotest.Commit))
	refused := func(line, want string, blobs ...string) {
		t.Helper()
		r := c.call(line, blobs...)
		require.NotNil(t, r.Error, line)
		assert.Contains(t, r.Error.Message, want)
		assert.NotNil(t, r.Error.Hints)
	}
	refused(putCall(1, "t", "1", 1), "the first call must be hello", "1")
	refused(`{"id":1,"method":"hello","params":{"protocol":2,"client":{"name":"x","version":"1"}}}`, "speaks protocol 1")
	refused(`{"id":1,"method":"hello","params":{"protocol":1,"client":{},"durability":"durable"}}`, "--durability process")
	c.hello()
	refused(`{"id":1,"method":"dance","params":{}}`, `no method "dance"`)
	refused(`{"method":"flush","params":{}}`, "no id")
	refused(`{"id":1,"method":"flush","params":{"a":1}}`, "unknown field")
	refused(`{"id":1,"method":"flush"}`, "parameters of flush")
	refused(putCall(1, "t", "", 1), "no id", "1")
	refused(strings.Replace(putCall(1, "t", "1", 1), `[1]`, `[1,0]`, 1), "2 blobs", "1")
	refused(putCall(1, "", "1", 1), "", "1")
	refused(`{"id":1,"method":"prune","params":{"threads":["t"],"strategy":"all"}}`, "unknown strategy")
	r := c.call(`{"id":5,"method":"list","params":{}}`)
	assert.JSONEq(t, `[]`, string(r.Result["tuples"]), "nothing was written")
}

func TestAGigabyteIsRefusedAndForgotten(t *testing.T) {
	t.Parallel()
	c := newClient(t, repotest.New(t, repotest.Commit))
	c.hello()
	go func() {
		_, _ = io.WriteString(c.in, putCall(1, "t", "1", 1<<30)+"\n")
		chunk := make([]byte, 1<<20)
		for range 1 << 10 {
			_, _ = c.in.Write(chunk)
		}
		_, _ = io.WriteString(c.in, `{"id":2,"method":"flush","params":{}}`+"\n")
	}()
	r := c.receive()
	require.NotNil(t, r.Error)
	assert.Equal(t, "limit_exceeded", r.Error.Code)
	assert.Nil(t, c.receive().Error)
}

func TestAStreamThatIsBrokenEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"no JSON",
		`{"id":1,"method":"put","params":{},"blobs":[-1]}`,
		`{"id":1,"method":"put","params":{},"blobs":["x"]}`,
		`{"id":1,"method":"put","params":{},"blobs":[9223372036854775807,9223372036854775807]}`,
	} {
		c := newClient(t, repotest.New(t, repotest.Commit))
		c.hello()
		r := c.call(line)
		require.NotNil(t, r.Error, line)
		assert.Equal(t, "invalid_input", r.Error.Code)
		err := <-c.done
		require.Error(t, err)
		c.done <- err
	}
}

func TestATruncatedMessageDoesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	c.hello()
	_, err := io.WriteString(c.in, putCall(1, "t", "1", 5)+"\n"+`"ab`)
	require.NoError(t, err)
	require.NoError(t, c.in.Close())
	require.NoError(t, <-c.done)
	c.done <- nil
	assert.NotContains(t, repo.Git("for-each-ref"), "refs/smithers")
}

// FuzzServe hands bytes to a server, which must end and must not crash.
func FuzzServe(f *testing.F) {
	f.Add([]byte(helloCall + "\n" + putCall(1, "t", "1", 5) + "\n" + `"abc"` + `{"id":2,"method":"list","params":{}}` + "\n"))
	f.Add([]byte(helloCall + "\n" + `{"id":2,"method":"copyThread","params":{"from":"a","to":"b"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		repo := repotest.New(t, repotest.Commit)
		s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=0"), Now: time.Now})
		require.NoError(t, err)
		var out bytes.Buffer
		_ = serve.New(langgraph.Open(s), "test", "process").Serve(t.Context(), bytes.NewReader(data), &out)
		require.NoError(t, s.Close())
	})
}
