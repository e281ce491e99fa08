package dialect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// leastImage is the size of the shortest data of an image, in base64.
const leastImage = 256

// hasBase64 reports whether a text has the data of an image in it, or as long a text of another kind.
func hasBase64[T string | []byte](text T) bool {
	for i := 0; i+leastImage <= len(text); {
		n := leastImage
		for n > 0 && isBase64(text[i+n-1]) {
			n--
		}
		if n == 0 {
			return true
		}
		i += n // no data has the byte before
	}
	return false
}

// isBase64 reports whether b is one of the signs of base64 or base64url.
func isBase64(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '=' || b == '_' || b == '-'
}

// WithoutImages returns a line of a transcript with a text in the place of each image, or nil if the line has none. The text says the size
// and the digest of what was left out. A part of a message that is an image becomes a part that is a text, so that a model can
// still be sent the conversation.
func WithoutImages(line []byte) []byte {
	if !bytes.Contains(line, []byte("image")) || !hasBase64(line) {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	var value any
	if in.Decode(&value) != nil {
		return nil
	}
	images := 0
	value = replaceImages(value, &images)
	if images == 0 {
		return nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) //nolint:errchkjson // it was decoded
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// replaceImages returns the value with its images replaced, and counts these.
func replaceImages(value any, images *int) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = replaceImages(v[i], images)
		}
	case map[string]any:
		if note := imageIn(v); note != "" {
			*images++
			return textPart(v, note)
		}
		for name := range v {
			v[name] = replaceImages(v[name], images)
		}
	}
	return value
}

// imageIn returns the note about the image that an object of JSON is, or "" if the object is not an image.
func imageIn(v map[string]any) string {
	for _, name := range []string{"source", "inlineData", "inline_data", "file"} { // which hold the data of an image
		if inner, ok := v[name].(map[string]any); ok && isImage(v, inner) {
			if data := dataOf(inner); data != "" {
				return noteOf(data)
			}
		}
	}
	if isImage(v, v) {
		if data := dataOf(v); data != "" {
			return noteOf(data)
		}
	}
	return ""
}

// isImage reports whether the type of an object, or of the object in it with the data, is one of images.
func isImage(outer, inner map[string]any) bool {
	for _, of := range []map[string]any{outer, inner} {
		for _, name := range []string{"type", "mimeType", "mime_type", "media_type", "mime"} {
			if kind, _ := of[name].(string); strings.HasPrefix(kind, "image") || kind == "input_image" {
				return true
			}
		}
	}
	return false
}

// dataOf returns the data of an image in an object, or "".
func dataOf(v map[string]any) string {
	for _, name := range []string{"data", "base64", "image_url", "url"} {
		text, _ := v[name].(string)
		if nested, ok := v[name].(map[string]any); ok {
			text, _ = nested["url"].(string)
		}
		if hasBase64(text) && !strings.HasPrefix(text, "http") {
			return text
		}
	}
	return ""
}

// noteOf returns the text for the place of an image.
func noteOf(data string) string {
	return fmt.Sprintf("[an image was left out: %d bytes of base64, SHA-256 %x]", len(data), sha256.Sum256([]byte(data)))
}

// textPart returns the part of a message that stands for the image v. Ids of v stay.
func textPart(v map[string]any, note string) map[string]any {
	part := map[string]any{"text": note}
	switch kind, _ := v["type"].(string); kind {
	case "input_image":
		part["type"] = "input_text"
	case "": // of Gemini
	default:
		part["type"] = "text"
	}
	for _, name := range []string{"id", "messageID", "sessionID"} {
		if id, ok := v[name]; ok {
			part[name] = id
		}
	}
	return part
}
