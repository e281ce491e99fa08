//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// modelAddress is where the fake model listens, in a network of its own.
const modelAddress = "127.0.0.1:8099"

// agentJail is a program that runs a coding agent against a fake model: agent-jail SCRIPT LOG PROGRAM ARG... It must be in a network
// namespace of its own, where it starts the loopback device. There is nothing else that the agent could reach.
func agentJail() {
	script, requests, command := os.Args[1], os.Args[2], os.Args[3:]
	model := new(fakeModel)
	data, err := os.ReadFile(script)
	if err == nil {
		err = json.Unmarshal(data, &model.rules)
	}
	if err == nil {
		model.log, err = os.OpenFile(requests, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err == nil {
		err = startLoopback()
	}
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("tcp", modelAddress)
	}
	if err != nil {
		giveUp(err)
	}
	go func() { giveUp(http.Serve(listener, model)) }()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		giveUp(err)
	}
	os.Exit(0)
}

// giveUp ends the program with an error.
func giveUp(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startLoopback starts the loopback device of a new network namespace.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only asked
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// A modelRule is what the fake model answers to a prompt with the text Match: one step after the other, the next with each round of
// results of tools.
type modelRule struct {
	Match string
	Steps []modelStep
}

// A modelStep is an answer: a text and calls of tools.
type modelStep struct {
	Text  string
	Calls []struct {
		Name  string
		Input json.RawMessage
	}
}

// fakeModel speaks as much of the Messages API as Claude Code needs. What it answers follows from the request alone, so that a cut
// conversation is answered as a whole one.
type fakeModel struct {
	rules []modelRule
	log   *os.File
	mu    sync.Mutex
	calls int
}

// A modelRequest is what the model reads of a request.
type modelRequest struct {
	Stream   bool
	Tools    []json.RawMessage
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// A modelBlock is a part of a message.
type modelBlock struct {
	Type, Text string
}

// heard returns the texts of a message, and whether it has results of tools.
func heard(content json.RawMessage) (text string, results bool) {
	if json.Unmarshal(content, &text) == nil {
		return text, false
	}
	var blocks []modelBlock
	_ = json.Unmarshal(content, &blocks)
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
		results = results || b.Type == "tool_result"
	}
	return strings.Join(texts, "\n"), results
}

func (m *fakeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/messages") {
		http.NotFound(w, r)
		return
	}
	var req modelRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	step := modelStep{Text: "ok"}
	if len(req.Tools) > 0 {
		step = m.choose(&req)
	}
	m.answer(w, step, req.Stream)
}

// choose returns the step for a request, and writes the prompts and the number of messages to the log.
func (m *fakeModel) choose(req *modelRequest) modelStep {
	var said []string
	step, rounds := modelStep{Text: "ok"}, 0
	for _, message := range req.Messages {
		text, results := heard(message.Content)
		if results {
			rounds++
		}
		if message.Role != "user" {
			continue
		}
		for _, rule := range m.rules {
			if !strings.Contains(text, rule.Match) {
				continue
			}
			said, rounds = append(said, rule.Match), 0
		}
		for _, rule := range m.rules {
			if len(said) == 0 || rule.Match != said[len(said)-1] {
				continue
			}
			step = modelStep{Text: "That is all."}
			if rounds < len(rule.Steps) {
				step = rule.Steps[rounds]
			}
		}
	}
	line, _ := json.Marshal(map[string]any{"messages": len(req.Messages), "said": said, "rounds": rounds})
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.log.Write(append(line, '\n'))
	return step
}

// answer writes a step as the Messages API does.
func (m *fakeModel) answer(w http.ResponseWriter, step modelStep, stream bool) {
	m.mu.Lock()
	m.calls++
	id := fmt.Sprintf("%d_%d", time.Now().UnixMilli(), m.calls)
	m.mu.Unlock()
	stop := "end_turn"
	var content []map[string]any
	if step.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": step.Text})
	}
	for i, call := range step.Calls {
		stop = "tool_use"
		content = append(content, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, i), "name": call.Name, "input": call.Input})
	}
	usage := map[string]any{"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
	message := map[string]any{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": "fake", "content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, members map[string]any) {
		members["type"] = kind
		data, _ := json.Marshal(members)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	send("message_start", map[string]any{"message": message})
	for i, block := range content {
		begin, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": block["text"]}
		if input, ok := block["input"].(json.RawMessage); ok {
			begin = map[string]any{"type": "tool_use", "id": block["id"], "name": block["name"], "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		send("content_block_start", map[string]any{"index": i, "content_block": begin})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", map[string]any{})
}
