package dialect

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

const (
	// geminiContext begins Gemini CLI's own message with the date, the folders, a list of files, and the user's memory.
	geminiContext = "<session_context>"
	// geminiFolders begins the list of folders in this message.
	geminiFolders = "- **Workspace Directories:**\n  - "
)

// geminiFolder returns the folder that a message of Gemini CLI's own names, or "" if text is another message.
func geminiFolder(text string) string {
	if !strings.HasPrefix(text, geminiContext) {
		return ""
	}
	_, after, _ := strings.Cut(text, geminiFolders)
	folder, _, _ := strings.Cut(after, "\n")
	return folder
}

// slimGemini returns the line without images, and without all but the folder of Gemini CLI's own message: a resumed session has a new
// one. It returns nil if there is nothing to leave out.
func slimGemini(line []byte) []byte {
	if !bytes.Contains(line, []byte(geminiContext)) && !bytes.Contains(line, []byte(`"inlineData"`)) {
		return nil
	}
	tree, err := decodeTree(line)
	if err != nil {
		return nil
	}
	if slim, changed := slimTree(tree); changed {
		return encodeTree(slim)
	}
	return nil
}

// slimTree is slimGemini for a value in a line. It changes maps and lists in place.
func slimTree(value any) (slim any, changed bool) {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			slim, did := slimTree(element)
			value[i], changed = slim, changed || did
		}
	case map[string]any:
		if note, ok := imageNote(value["inlineData"]); ok {
			return map[string]any{"text": note}, true
		}
		if text, ok := value["text"].(string); ok && strings.HasPrefix(text, geminiContext) {
			short := geminiContext + "\n" + geminiFolders + geminiFolder(text) + "\n</session_context>"
			value["text"] = short
			return value, text != short
		}
		changed = slimResponse(value)
		for name, member := range value {
			slim, did := slimTree(member)
			value[name], changed = slim, changed || did
		}
	}
	return value, changed
}

// slimResponse leaves the images out of the result of a tool. The parts of a result cannot be texts, so notes stand in the response.
func slimResponse(result map[string]any) (changed bool) {
	parts, _ := result["parts"].([]any)
	response, ok := result["response"].(map[string]any)
	if !ok || len(parts) == 0 {
		return false
	}
	var kept, notes []any
	for _, part := range parts {
		fields, _ := part.(map[string]any)
		if note, ok := imageNote(fields["inlineData"]); ok {
			notes = append(notes, note)
			continue
		}
		kept = append(kept, part)
	}
	if len(notes) == 0 {
		return false
	}
	response["leftOut"] = notes
	if result["parts"] = kept; kept == nil {
		delete(result, "parts")
	}
	return true
}

// imageNote returns the note that stands for an image or another file in a conversation, or false if value is no such file.
func imageNote(value any) (string, bool) {
	file, _ := value.(map[string]any)
	encoded, ok := file["data"].(string)
	if !ok {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		data = []byte(encoded)
	}
	kind, _ := file["mimeType"].(string)
	return fmt.Sprintf("[left out: %s, %d bytes, SHA-256 %x]", kind, len(data), sha256.Sum256(data)), true
}
