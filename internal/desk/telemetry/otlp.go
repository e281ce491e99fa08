package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/desk/block"
)

// send posts each block that it reads to the collector of a signal, traces or metrics, that the environment names. For each, it writes a block: an empty
// one if the collector has taken it, or else why it has not.
func send(ctx context.Context, s Streams, signal string) error {
	to, err := collectorOf(s.Env, signal)
	if err != nil {
		return err
	}
	in := bufio.NewReader(s.In)
	for {
		body, err := block.Read(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		why := ""
		if err := to.post(ctx, body); err != nil {
			why = err.Error()
		}
		if err := block.Write(s.Out, []byte(why)); err != nil {
			return err
		}
	}
}

// collector is where a signal goes.
type collector struct {
	url     string
	headers map[string]string
	client  *http.Client
}

// exporter is how the names of the variables of all signals begin.
const exporter = "OTEL_EXPORTER_OTLP_"

// collectorOf returns the collector of a signal that an environment names, in the variables of OpenTelemetry's exporters.
func collectorOf(env []string, signal string) (*collector, error) {
	own := exporter + strings.ToUpper(signal) + "_" // how the names of the signal's own variables begin
	at := variable(env, own+"ENDPOINT")
	if at == "" {
		at = strings.TrimSuffix(variable(env, exporter+"ENDPOINT"), "/") + "/v1/" + signal
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("not the URL of a collector: %.200q", at)
	}
	for _, name := range []string{own + "PROTOCOL", exporter + "PROTOCOL"} {
		if variable(env, name) == "grpc" {
			return nil, errors.New(name + " is grpc, but " + signal + " are sent over HTTP only")
		}
	}
	c := &collector{url: u.String(), headers: make(map[string]string), client: &http.Client{Timeout: timeoutOf(env, own)}}
	for _, name := range []string{exporter + "HEADERS", own + "HEADERS"} {
		for pair := range strings.SplitSeq(variable(env, name), ",") {
			key, escaped, ok := strings.Cut(strings.TrimSpace(pair), "=")
			value, err := url.PathUnescape(escaped)
			if ok && err == nil && key != "" {
				c.headers[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
	}
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the headers may have a key
	return c, nil
}

// timeoutOf returns how long a request may take. own is how the names of the signal's own variables begin.
func timeoutOf(env []string, own string) time.Duration {
	const usual = 10 * time.Second
	for _, name := range []string{own + "TIMEOUT", exporter + "TIMEOUT"} {
		if ms, err := strconv.Atoi(variable(env, name)); err == nil && ms > 0 {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return usual
}

// post sends a request. The error has no headers.
func (c *collector) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "git-smithers")
	answer, err := c.client.Do(req)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	err = errors.Join(err, answer.Body.Close())
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("the collector answered %s: %.200q", answer.Status, said)
	}
	return err
}
