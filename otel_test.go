package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// watched has a repository, and both programs on the PATH of its commands.
type watched struct {
	*repotest.Repo

	t *testing.T
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{Repo: repotest.New(t, repotest.Commit), t: t}
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	linkSmithers(t, filepath.Join(bin, "git-smithers"))
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "git-smithers-desk")))
	w.Env = append(w.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	return w
}

// command returns a command of git smithers in the repository.
func (w *watched) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), "git", append([]string{"smithers"}, args...)...)
	cmd.Dir, cmd.Env = w.Dir, append(w.Env, env...)
	return cmd
}

// smithers runs git smithers, which must succeed, and returns its output.
func (w *watched) smithers(env []string, args ...string) string {
	w.t.Helper()
	cmd := w.command(env, args...)
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "%s", out)
	return string(out)
}

// collector is an OpenTelemetry collector: it reads requests by the definitions of OTLP.
type collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans map[string]*tracepb.Span // by smithers.run_id, node and tool
	// metrics are the newest of each name.
	metrics map[string]*metricspb.Metric
	wrong   error
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{spans: make(map[string]*tracepb.Span), metrics: make(map[string]*metricspb.Metric)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
		case r.URL.Path == "/v1/metrics":
			err = c.takeMetrics(body)
		default:
			err = c.take(body)
		}
		if err != nil {
			c.mu.Lock()
			c.wrong = err
			c.mu.Unlock()
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// hexID finds the ids, which are hexadecimal in OTLP's JSON and base64 in that of protobuf.
var hexID = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"`)

func (c *collector) take(body []byte) error {
	body = hexID.ReplaceAllFunc(body, func(member []byte) []byte {
		parts := hexID.FindSubmatch(member)
		id, _ := hex.DecodeString(string(parts[2]))
		return fmt.Appendf(nil, `"%s":"%s"`, parts[1], base64.StdEncoding.EncodeToString(id))
	})
	var req tracepb.TracesData // the same message as ExportTraceServiceRequest, without gRPC
	if err := protojson.Unmarshal(body, &req); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				var name strings.Builder
				for _, key := range []string{"smithers.run_id", "smithers.node_id", "smithers.tool_name"} {
					for _, a := range span.GetAttributes() {
						if a.GetKey() == key {
							name.WriteString(" " + a.GetValue().GetStringValue())
						}
					}
				}
				c.spans[strings.TrimSpace(name.String())] = span
			}
		}
	}
	return nil
}

func (c *collector) takeMetrics(body []byte) error {
	var req metricspb.MetricsData // the same message as ExportMetricsServiceRequest, without gRPC
	if err := protojson.Unmarshal(body, &req); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				c.metrics[m.GetName()] = m
			}
		}
	}
	return nil
}

// sum returns the sum of a metric's points; -1 if the collector has none of that name.
func (c *collector) sum(name string) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.metrics[name] == nil {
		return -1
	}
	all := 0.0
	for _, p := range c.metrics[name].GetSum().GetDataPoints() {
		all += p.GetAsDouble()
	}
	return all
}

// span waits for a span.
func (c *collector) span(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	var span *tracepb.Span
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		span = c.spans[name]
		return span != nil || c.wrong != nil
	}, time.Minute, 10*time.Millisecond, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(t, c.wrong)
	return span
}

// has reports whether the collector has a span.
func (c *collector) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans[name] != nil
}

// metric returns a metric that the collector has, and everything that it was sent must be right.
func (c *collector) metric(t *testing.T, name string) *metricspb.Metric {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NoError(t, c.wrong)
	require.Contains(t, c.metrics, name)
	return c.metrics[name]
}

func TestARunIsATraceOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCollector(t)
	w.Write("flow.yaml", `name: flow
tasks:
  - {id: work, run: 'echo "$TRACEPARENT" >span; echo ''{"tool":"read","output":1}'' >>"$SMITHERS_TOOL_CALLS"'}
  - {id: inner, needs: [work], workflow: inner.yaml}
  - {id: bad, needs: [inner], run: 'exit 3'}
`)
	w.Write("inner.yaml", "name: inner\ntasks:\n  - {id: deep, run: 'true'}\n")
	const from = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	at := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "TRACEPARENT=" + from}
	out, err := w.command(at, "run", "flow.yaml", "--run-id", "a").CombinedOutput()
	require.Error(t, err, "%s", out)

	run, work := c.span(t, "a"), c.span(t, "a work")
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", hex.EncodeToString(run.GetTraceId()))
	assert.Equal(t, "00f067aa0ba902b7", hex.EncodeToString(run.GetParentSpanId()), "the run is part of its caller's span")
	assert.Equal(t, "run flow", run.GetName())
	assert.Equal(t, "task work", work.GetName())
	assert.Equal(t, tracepb.Status_STATUS_CODE_ERROR, run.GetStatus().GetCode())
	assert.Equal(t, "bad: exit status 3", run.GetStatus().GetMessage())
	assert.Equal(t, run.GetSpanId(), work.GetParentSpanId())
	assert.LessOrEqual(t, run.GetStartTimeUnixNano(), work.GetStartTimeUnixNano())
	assert.LessOrEqual(t, work.GetEndTimeUnixNano(), run.GetEndTimeUnixNano())
	assert.Equal(t, work.GetSpanId(), c.span(t, "a work read").GetParentSpanId(), "a tool call is part of its attempt")
	assert.Equal(t, tracepb.Status_STATUS_CODE_ERROR, c.span(t, "a bad").GetStatus().GetCode())
	given, err := os.ReadFile(filepath.Join(w.Dir, "span"))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("00-%x-%x-01\n", work.GetTraceId(), work.GetSpanId()), string(given), "a command is given the span of its attempt")

	called := c.span(t, "a.inner.1")
	assert.Equal(t, c.span(t, "a inner").GetSpanId(), called.GetParentSpanId(), "a called run is part of the attempt that calls it")
	assert.Equal(t, run.GetTraceId(), called.GetTraceId())
	assert.Equal(t, called.GetSpanId(), c.span(t, "a.inner.1 deep").GetParentSpanId())
	w.smithers(nil, "verify")
}

func TestASessionThatEndsIsATraceOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCollector(t)
	hook := func(event, input string) {
		cmd := w.command([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}, "session", "hook", "claude", event)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.Empty(t, out, "an agent obeys what a hook says")
	}
	hook("UserPromptSubmit", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"mend it"}`)
	hook("PostToolBatch", `{"session_id":"s","hook_event_name":"PostToolBatch","tool_calls":[{"tool_name":"Write","tool_use_id":"toolu_1"}]}`)
	hook("Stop", `{"session_id":"s","hook_event_name":"Stop"}`)
	require.NoFileExists(t, filepath.Join(w.GitDir, "smithers", "traces", "claude-s"), "it goes on")
	hook("SessionEnd", `{"session_id":"s","hook_event_name":"SessionEnd"}`)

	run, turn := c.span(t, "claude-s"), c.span(t, "claude-s turn")
	assert.Equal(t, run.GetSpanId(), turn.GetParentSpanId())
	assert.Equal(t, turn.GetSpanId(), c.span(t, "claude-s turn Write").GetParentSpanId())
	w.smithers(nil, "verify")
}

func TestNoTraceIsLostWhileTheCollectorIsAway(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCollector(t)
	w.Write("flow.yaml", "name: flow\ntasks:\n  - {id: work, run: 'true'}\n")
	nowhere := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}
	w.smithers(nowhere, "run", "flow.yaml", "--run-id", "a")
	w.smithers(nil, "run", "flow.yaml", "--run-id", "untraced")
	queues, err := filepath.Glob(filepath.Join(w.GitDir, "smithers", "traces-*")) // of this place
	require.NoError(t, err)
	require.Len(t, queues, 1)
	queue := queues[0]
	require.FileExists(t, filepath.Join(queue, "a"), "it waits")
	out, err := w.command(nowhere, "traces", "--send").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "the trace of run a was not sent")
	assert.Contains(t, string(out), "1 trace was not sent")

	w.smithers([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}, "run", "flow.yaml", "--run-id", "b")
	c.span(t, "a work")
	c.span(t, "b work")
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(queue)
		return err == nil && len(left) == 0
	}, time.Minute, 10*time.Millisecond)
	assert.False(t, c.has("untraced"), "runs without a collector are not sent by themselves")
	assert.Equal(t, "untraced\n", w.smithers([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}, "traces", "--send", "untraced"))
	c.span(t, "untraced work")
	w.smithers(nil, "verify")
}

func TestASupervisorSendsMetricsToACollector(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	c := newCollector(t)
	w.Write("flow.yaml", "name: flow\ntasks:\n  - {id: pause, timer: 1s}\n  - {id: work, needs: [pause], run: 'true'}\n")
	nowhere := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}
	out, err := w.command(nil, "run", "flow.yaml", "--run-id", "a").CombinedOutput()
	require.Error(t, err, "it waits: %s", out)
	w.Write("other.yaml", "name: other\ntasks:\n  - {id: work, run: 'true'}\n")
	w.smithers(nowhere, "run", "other.yaml", "--run-id", "b")

	supervisor := w.command([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_METRIC_EXPORT_INTERVAL=100"}, "supervise", "--interval", "100ms")
	supervisor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	supervisor.Cancel = func() error { return syscall.Kill(-supervisor.Process.Pid, syscall.SIGKILL) }
	var said strings.Builder
	supervisor.Stderr = &said
	require.NoError(t, supervisor.Start())
	c.span(t, "b work") // no run has ended since the collector is there
	c.span(t, "a work")
	for name, want := range map[string]float64{"smithers.attempts": 3, "smithers.forks.created": 0, "smithers.db.retries": 0} {
		require.Eventually(t, func() bool { return c.sum(name) == want }, time.Minute, 10*time.Millisecond, name)
	}
	require.Eventually(t, func() bool { return c.sum("smithers.snapshots.captured") > 0 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(-supervisor.Process.Pid, syscall.SIGINT)) // as a terminal does
	require.Error(t, supervisor.Wait())
	assert.NotContains(t, said.String(), "were not sent", "what was interrupted sent the last numbers")
	took := c.metric(t, "smithers.snapshot.duration_ms")
	assert.Equal(t, "ms", took.GetUnit())
	point := took.GetHistogram().GetDataPoints()[0]
	assert.Positive(t, point.GetCount())
	assert.Len(t, point.GetBucketCounts(), len(point.GetExplicitBounds())+1)
	all := uint64(0)
	for _, n := range point.GetBucketCounts() {
		all += n
	}
	assert.Equal(t, point.GetCount(), all)
	assert.InDelta(t, 1, point.GetExplicitBounds()[0], 0, "the first bucket is of up to 1 ms")
	assert.NotEmpty(t, c.metric(t, "smithers.disk.bytes").GetGauge().GetDataPoints())

	out, err = w.command(nowhere, "supervise", "--once").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, "the (last )?metrics were not sent", string(out)) // the last ones, if refusing takes long
	w.smithers(nil, "verify")
}

func TestACollectorThatHangsHoldsUpNoSupervisor(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	asked, hang := make(chan struct{}, 100), make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hang
	}))
	defer collector.Close()
	defer close(hang)
	supervisor := w.command([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_METRIC_EXPORT_INTERVAL=100", "OTEL_EXPORTER_OTLP_TIMEOUT=3600000"}, "supervise", "--interval", "100ms")
	said := new(strings.Builder)
	supervisor.Stderr = said
	require.NoError(t, supervisor.Start())
	<-asked
	require.NoError(t, supervisor.Process.Signal(os.Interrupt))
	require.Error(t, supervisor.Wait(), "it would not end for an hour")
	assert.Contains(t, said.String(), "the collector does not answer within 5s")
	w.smithers(nil, "verify")
}

func TestAMetricsListenerThatDiesIsAWarning(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	at := freeAddress(t)
	supervisor := w.command(nil, "supervise", "--metrics", at, "--interval", "100ms")
	supervisor.Cancel = func() error { return supervisor.Process.Signal(os.Interrupt) }
	said, err := supervisor.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, supervisor.Start())
	lines := bufio.NewScanner(said)
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), "metrics at http://")
	listener := processOf(t, "git-smithers-desk\x00metrics\x00"+at)
	require.NoError(t, syscall.Kill(listener, syscall.SIGKILL))
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), "nobody answers at the address of --metrics any more")
	require.NoError(t, supervisor.Process.Signal(os.Interrupt))
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), "interrupted", "the supervisor has gone on")
	_ = supervisor.Wait()
	w.smithers(nil, "verify")
}

// processOf returns the process with a part of a command line, whose arguments end with NUL.
func processOf(t *testing.T, part string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range all {
		line, _ := os.ReadFile(file) // it may have ended
		if bytes.Contains(line, []byte(part)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return pid
		}
	}
	require.Fail(t, "no such process", "%q", part)
	return 0
}

// TestPrometheusScrapesASupervisor runs the real Prometheus.
func TestPrometheusScrapesASupervisor(t *testing.T) {
	t.Parallel()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "there is no prometheus")
		t.Log("there is no prometheus: only CI demands it")
		return
	}
	w := newWatched(t)
	w.Write("flow.yaml", "name: flow\ntasks:\n  - {id: pause, timer: 2s}\n  - {id: work, needs: [pause], run: 'true'}\n")
	out, err := w.command(nil, "run", "flow.yaml", "--run-id", "a").CombinedOutput()
	require.Error(t, err, "it waits: %s", out)

	supervisor := w.command(nil, "supervise", "--metrics", "127.0.0.1:0", "--interval", "100ms")
	supervisor.Cancel = func() error { return supervisor.Process.Signal(os.Interrupt) }
	said, err := supervisor.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, supervisor.Start())
	line := make([]byte, 200)
	n, err := said.Read(line)
	require.NoError(t, err)
	url := regexp.MustCompile(`http://([0-9.:]+)/metrics`).FindStringSubmatch(string(line[:n]))
	require.NotNil(t, url, "%s", line[:n])
	go func() { _, _ = io.Copy(io.Discard, said) }()

	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "scrape_configs: [{job_name: smithers, scrape_interval: 1s, static_configs: [{targets: ['%s']}]}]\n", url[1]), 0o600))
	at := freeAddress(t)
	server := exec.CommandContext(t.Context(), prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })

	for query, want := range map[string]string{
		`smithers_runs{status="finished"}`:          "1",
		`smithers_attempts_total{state="finished"}`: "2",
		`up{job="smithers"}`:                        "1",
	} {
		require.Eventually(t, func() bool { return queryPrometheus(t.Context(), at, query) == want }, time.Minute, 200*time.Millisecond, query)
	}
	require.Eventually(t, func() bool {
		count := queryPrometheus(t.Context(), at, `smithers_snapshot_duration_seconds_count`)
		return count != "" && count != "0"
	}, time.Minute, 200*time.Millisecond, "the supervisor stored entries")
	require.NoError(t, supervisor.Process.Signal(os.Interrupt))
	_ = supervisor.Wait()
	w.smithers(nil, "verify")
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// queryPrometheus returns the value of the only sample that a query finds; "" if there is none.
func queryPrometheus(ctx context.Context, at, query string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/api/v1/query", nil)
	if err != nil {
		return ""
	}
	q := req.URL.Query()
	q.Set("query", query)
	req.URL.RawQuery = q.Encode()
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if json.NewDecoder(answer.Body).Decode(&got) != nil || len(got.Data.Result) != 1 {
		return ""
	}
	text, _ := got.Data.Result[0].Value[1].(string)
	return text
}
