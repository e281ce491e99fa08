package modeltest

import (
	"cmp"
	"fmt"
)

// readChat returns the conversation in a request of OpenAI's Chat Completions API.
func readChat(body object) (items []item) {
	for _, m := range objects(body, "messages") {
		role, _ := m["role"].(string)
		items = append(items, item{role, textOf(m, "content")})
	}
	return items
}

// writeChat answers as OpenAI's Chat Completions API does.
func writeChat(out answer, id string, step Step) {
	finish := "stop"
	message := object{"role": "assistant", "content": step.Text}
	var calls []any
	for i, call := range step.Calls {
		finish = "tool_calls"
		calls = append(calls, object{
			"index": i, "id": fmt.Sprintf("call_%s_%d", id, i), "type": "function",
			"function": object{"name": call.Name, "arguments": string(call.Input)},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	const answered = 2
	asked := cmp.Or(step.Tokens, 10)
	usage := object{"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
	if !out.stream {
		out.whole(object{
			"id": "chat_" + id, "object": "chat.completion", "model": "fake-1", "usage": usage,
			"choices": []any{object{"index": 0, "message": message, "finish_reason": finish}},
		})
		return
	}
	chunk := func(delta object, finish any) object {
		return object{
			"id": "chat_" + id, "object": "chat.completion.chunk", "model": "fake-1", "created": 1,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	out.event("", chunk(message, nil))
	last := chunk(object{}, finish)
	last["usage"] = usage
	out.event("", last)
	_, _ = fmt.Fprint(out.w, "data: [DONE]\n\n")
}
