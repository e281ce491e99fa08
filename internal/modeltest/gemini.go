package modeltest

import "fmt"

// readGemini returns the conversation in a request of Gemini's API. Results and words in one message are two items: Gemini CLI joins
// what follows each other from the user's side.
func readGemini(body object) (items []item) {
	for _, m := range objects(body, "contents") {
		role, _ := m["role"].(string)
		text, results := textOf(m, "parts"), false
		for _, part := range objects(m, "parts") {
			results = results || part["functionResponse"] != nil
		}
		if results {
			items = append(items, item{"tool", ""})
		}
		if !results || text != "" {
			items = append(items, item{role, text})
		}
	}
	return items
}

// writeGemini answers as Gemini's API does.
func writeGemini(out answer, id string, step Step) {
	var parts []any
	if step.Text != "" {
		parts = append(parts, object{"text": step.Text})
	}
	for i, call := range step.Calls {
		parts = append(parts, object{"functionCall": object{"id": fmt.Sprintf("fc_%s_%d", id, i), "name": call.Name, "args": call.Input}})
	}
	response := object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
		"modelVersion":  "fake-1", "responseId": id,
	}
	if out.stream {
		out.event("", response)
		return
	}
	out.whole(response)
}
