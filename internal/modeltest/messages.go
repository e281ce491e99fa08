package modeltest

import "fmt"

// readMessages returns the conversation in a request of Anthropic's Messages API.
func readMessages(body object) (items []item) {
	for _, m := range objects(body, "messages") {
		role, _ := m["role"].(string)
		text := textOf(m, "content")
		results := false
		for _, part := range objects(m, "content") {
			results = results || part["type"] == "tool_result"
		}
		if results {
			items = append(items, item{"tool", ""})
		}
		if !results || text != "" { // a prompt may stand beside results
			items = append(items, item{role, text})
		}
	}
	return items
}

// writeMessages answers as Anthropic's Messages API does.
func writeMessages(out answer, id string, step Step) {
	stop := "end_turn"
	var content []object
	if step.Text != "" {
		content = append(content, object{"type": "text", "text": step.Text})
	}
	for i, call := range step.Calls {
		stop = "tool_use"
		content = append(content, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, i), "name": call.Name, "input": call.Input})
	}
	usage := object{"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
	message := object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": "fake", "content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if !out.stream {
		out.whole(message)
		return
	}
	send := func(kind string, members object) {
		members["type"] = kind
		out.event(kind, members)
	}
	message["content"], message["stop_reason"] = []any{}, nil
	send("message_start", object{"message": message})
	for i, block := range content {
		begin, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": block["text"]}
		if block["type"] == "tool_use" {
			begin = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": fmt.Sprintf("%s", block["input"])}
		}
		send("content_block_start", object{"index": i, "content_block": begin})
		send("content_block_delta", object{"index": i, "delta": delta})
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{})
}
