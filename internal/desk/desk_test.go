package desk_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/desk"
	"github.com/git-smithers/git-smithers/internal/desk/block"
	"github.com/git-smithers/git-smithers/internal/desk/telemetry"
)

// program is a running desk.Main.
type program struct {
	in     io.WriteCloser
	out    *bufio.Reader
	err    bytes.Buffer
	status chan int
}

func start(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	p := &program{in: inWrite, out: bufio.NewReader(outRead), status: make(chan int, 1)}
	go func() {
		status := desk.Main(t.Context(), desk.Streams{Streams: telemetry.Streams{In: inRead, Out: outWrite, Env: env}, Err: &p.err}, args)
		_ = outWrite.Close()
		p.status <- status
	}()
	return p
}

func (p *program) read(t *testing.T) string {
	t.Helper()
	text, err := block.Read(p.out)
	require.NoError(t, err)
	return string(text)
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

func TestAScrapeIsAnsweredByTheSupervisor(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "metrics", "localhost:0")
	url := p.read(t)
	go func() {
		for _, text := range []string{"one 1\n", ""} {
			if _, err := block.Read(p.out); err == nil {
				_ = block.Write(p.in, []byte(text))
			}
		}
	}()
	status, body := get(t, url)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "one 1\n", body)
	status, _ = get(t, url)
	assert.Equal(t, http.StatusInternalServerError, status, "the supervisor cannot read the metrics")
	status, _ = get(t, strings.TrimSuffix(url, "metrics"))
	assert.Equal(t, http.StatusNotFound, status)

	// A web page whose name leads to this address gets nothing, and the supervisor is not asked.
	for host, want := range map[string]int{"pages.example": http.StatusForbidden, "pages.example:80": http.StatusForbidden, "127.0.0.1.pages.example": http.StatusForbidden, "LOCALHOST": http.StatusOK, "127.0.0.1:9": http.StatusOK, "[::1]": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		if req.Host = host; want == http.StatusOK {
			go func() {
				if _, err := block.Read(p.out); err == nil {
					_ = block.Write(p.in, []byte("one 1\n"))
				}
			}()
		}
		answer, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		assert.Equal(t, want, answer.StatusCode, host)
		require.NoError(t, answer.Body.Close())
	}
	require.NoError(t, p.in.Close())
	assert.Zero(t, <-p.status, "it ends with the supervisor")
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(nil)
	defer taken.Close()
	p := start(t, nil, "metrics", taken.Listener.Addr().String())
	assert.Equal(t, 1, <-p.status)
	assert.Contains(t, p.err.String(), "address already in use")
}

func TestTracesGoToTheCollectorOfTheEnvironment(t *testing.T) {
	t.Parallel()
	var got []string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", r.Header.Get("X-Key"), " ", string(body)))
		switch string(body) {
		case "bad":
			http.Error(w, "no such field", http.StatusBadRequest)
		case "moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	defer collector.Close()
	p := start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b, other=c"}, "send", "traces")
	for body, want := range map[string]string{"good": "", "bad": `the collector answered 400 Bad Request: "no such field\n"`, "moved": "the collector answered 307"} {
		require.NoError(t, block.Write(p.in, []byte(body)))
		said := p.read(t)
		assert.True(t, strings.HasPrefix(said, want) && (said == "") == (want == ""), said)
	}
	require.NoError(t, p.in.Close())
	assert.Zero(t, <-p.status)
	assert.Contains(t, got, "POST /v1/traces application/json a b good")
	assert.Len(t, got, 3, "a redirect is not followed: the headers may have a key")
}

func TestACollectorThatCannotBeAskedIsAnError(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector":        "not the URL of a collector",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://x/y": "not the URL of a collector",
	} {
		p := start(t, []string{env}, "send", "traces")
		assert.Equal(t, 1, <-p.status)
		assert.Contains(t, p.err.String(), want)
	}
	p := start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "send", "traces")
	assert.Equal(t, 1, <-p.status)
	assert.Contains(t, p.err.String(), "is grpc, but traces are sent over HTTP only")
	p = start(t, nil, "serve")
	assert.Equal(t, 1, <-p.status)
	assert.Contains(t, p.err.String(), "is started by git smithers")
}

func TestABlockIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x\n", "-1\n", "99999999999\n", "3\nab", "12"} {
		_, err := block.Read(bufio.NewReader(strings.NewReader(text)))
		require.Error(t, err, text)
		assert.NotErrorIs(t, err, io.EOF)
	}
	_, err := block.Read(bufio.NewReader(strings.NewReader("")))
	assert.ErrorIs(t, err, io.EOF)
}
