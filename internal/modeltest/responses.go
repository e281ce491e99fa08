package modeltest

import (
	"fmt"
	"strings"
)

// readResponses returns the conversation in a request of OpenAI's Responses API.
func readResponses(body object) (items []item) {
	if text, ok := body["input"].(string); ok {
		return []item{{"user", text}}
	}
	for _, in := range objects(body, "input") {
		kind, _ := in["type"].(string)
		role, _ := in["role"].(string)
		if strings.HasSuffix(kind, "_output") {
			role = "tool"
		}
		items = append(items, item{role, textOf(in, "content")})
	}
	return items
}

// writeResponses answers as OpenAI's Responses API does.
func writeResponses(out answer, id string, step Step) {
	var output []object
	if step.Text != "" {
		output = append(output, object{
			"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": step.Text, "annotations": []any{}}},
		})
	}
	for i, call := range step.Calls {
		item := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", id, i), "call_id": fmt.Sprintf("call_%s_%d", id, i),
			"name": call.Name, "arguments": string(call.Input), "status": "completed",
		}
		if namespace, name, ok := strings.Cut(call.Name, "/"); ok { // a tool of a server
			item["namespace"], item["name"] = namespace, name
		}
		output = append(output, item)
	}
	response := object{
		"id": "resp_" + id, "object": "response", "model": "fake-1", "status": "completed", "output": output,
		"usage": object{
			"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 2,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 12,
		},
	}
	if !out.stream {
		out.whole(response)
		return
	}
	send := func(kind string, members object) {
		members["type"] = kind
		out.event(kind, members)
	}
	send("response.created", object{"response": object{"id": "resp_" + id, "status": "in_progress"}})
	for i, o := range output {
		send("response.output_item.added", object{"output_index": i, "item": o})
		if o["type"] == "message" {
			send("response.output_text.delta", object{"item_id": o["id"], "output_index": i, "content_index": 0, "delta": step.Text})
		}
		send("response.output_item.done", object{"output_index": i, "item": o})
	}
	send("response.completed", object{"response": response})
}
