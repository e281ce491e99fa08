package runpage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
)

// required is the Need of a field without which an answer is refused.
const required = "required"

// formSchema is the part of a JSON schema from which a page is made. The engine checks an answer against the whole schema.
type formSchema struct {
	Type       json.RawMessage   `json:"type"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	Default    json.RawMessage   `json:"default"`
	Minimum    json.RawMessage   `json:"minimum"`
	Maximum    json.RawMessage   `json:"maximum"`
	MinLength  json.RawMessage   `json:"minLength"`
	MaxLength  json.RawMessage   `json:"maxLength"`
	Pattern    string            `json:"pattern"`
	Format     string            `json:"format"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
}

// fieldsOf returns the fields of a form, the required ones first: one without a name if the answer is one value. The result is nil
// if there is no schema, or if it is not for people.
func fieldsOf(form json.RawMessage) []summary.Field {
	of, properties := parseForm(form)
	if of == nil {
		return nil
	}
	if properties == nil {
		if says := of.says(); says != "" {
			return []summary.Field{{Says: says}}
		}
		return nil
	}
	fields := make([]summary.Field, 0, len(properties))
	for _, p := range properties {
		var one formSchema
		if json.Unmarshal(p.Value, &one) != nil {
			return nil
		}
		need := ""
		switch {
		case slices.Contains(of.Required, p.Name):
			need = required
		case one.Default != nil:
			need = one.word(one.Default) + " if left out"
		}
		fields = append(fields, summary.Field{Name: p.Name, Says: one.says(), Need: need})
	}
	return mail.RequiredFirst(fields, func(f summary.Field) bool { return f.Need == required })
}

// parseForm returns the schema of a form and, if the answer is an object, its properties. It returns nil if there is none.
func parseForm(form json.RawMessage) (*formSchema, jsontext.Members) {
	of := new(formSchema)
	if len(form) == 0 || json.Unmarshal(form, of) != nil {
		return nil, nil
	}
	var properties jsontext.Members
	if of.Properties != nil && json.Unmarshal(of.Properties, &properties) != nil {
		return nil, nil
	}
	return of, properties
}

// typeName returns the type of the schema, or "" if it has none or several.
func (f *formSchema) typeName() (name string) {
	_ = json.Unmarshal(f.Type, &name) // a list of types is no name
	return name
}

// word returns a value of the schema as a person says it.
func (f *formSchema) word(value json.RawMessage) string {
	if f.typeName() == "boolean" {
		switch string(value) {
		case "true":
			return "yes"
		case "false":
			return "no"
		}
	}
	return mail.ChoiceText(value)
}

// says returns which values fit the schema, in words.
func (f *formSchema) says() string {
	if f.Enum != nil {
		words := make([]string, min(len(f.Enum), mail.ChoicesShown))
		for i := range words {
			words[i] = f.word(f.Enum[i])
		}
		text := strings.Join(words, " | ")
		if more := len(f.Enum) - len(words); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	}
	switch f.typeName() {
	case "boolean":
		return "yes | no"
	case "integer":
		return bounds("", f.Minimum, f.Maximum, "a whole number")
	case "number":
		return bounds("", f.Minimum, f.Maximum, "a number")
	case "string":
		text := "text"
		if f.MinLength != nil || f.MaxLength != nil {
			text = bounds("text, ", f.MinLength, f.MaxLength, "")
		}
		if f.Format != "" {
			text += ", " + f.Format
		}
		if f.Pattern != "" {
			text += ", matches " + f.Pattern
		}
		return text
	case "array":
		return "a list, as JSON"
	case "object":
		return "an object, as JSON"
	}
	return "JSON"
}

// bounds returns words for two bounds, each of which may be nil. It returns none after what if both are.
func bounds(what string, least, most json.RawMessage, none string) string {
	switch {
	case least != nil && most != nil:
		return what + string(least) + " to " + string(most)
	case least != nil:
		return what + "at least " + string(least)
	case most != nil:
		return what + "at most " + string(most)
	}
	return what + none
}

// sampleAnswer returns the arguments of answer that give a valid answer to a request, for a person to change. kind is that of the
// request, and form its schema. The result is nil if no short answer is known to be valid.
func sampleAnswer(kind string, form json.RawMessage) []string {
	if kind == snapshot.HumanConfirm {
		return []string{"--yes"}
	}
	of, properties := parseForm(form)
	if of == nil {
		return nil
	}
	if properties == nil {
		if len(of.Enum) == 0 || !fits(form, of.Enum[0]) {
			return nil
		}
		if word := mail.ChoiceText(of.Enum[0]); !strings.HasPrefix(word, "-") {
			return []string{word}
		}
		return []string{"--value", string(of.Enum[0])}
	}
	var members jsontext.Members
	for _, p := range properties {
		if !slices.Contains(of.Required, p.Name) {
			continue
		}
		var one formSchema
		if json.Unmarshal(p.Value, &one) != nil {
			return nil
		}
		members = append(members, jsontext.Member{Name: p.Name, Value: one.sample()})
	}
	answer, err := members.MarshalJSON()
	if err != nil || len(answer) > longestSample || !fits(form, answer) {
		return nil
	}
	return []string{"--value", string(answer)}
}

// longestSample is the size of the longest answer that a page proposes, in bytes.
const longestSample = 200

// sample returns a value that is likely to fit the schema.
func (f *formSchema) sample() json.RawMessage {
	switch {
	case f.Const != nil:
		return f.Const
	case f.Default != nil:
		return f.Default
	case len(f.Enum) > 0:
		return f.Enum[0]
	}
	switch f.typeName() {
	case "boolean":
		return json.RawMessage("true")
	case "integer", "number":
		if f.Minimum != nil {
			return f.Minimum
		}
		if f.Maximum != nil {
			return f.Maximum
		}
		return json.RawMessage("1")
	case "string":
		return json.RawMessage(`"TEXT"`)
	case "array":
		return json.RawMessage("[]")
	case "object":
		return json.RawMessage("{}")
	}
	return json.RawMessage("null")
}

// fits reports whether a value fits a form, a JSON schema.
func fits(form, value json.RawMessage) bool {
	compiled, err := schema.Compile(form, &schema.Bounds{Stored: true})
	if err != nil {
		return false
	}
	_, decoded, err := schema.DecodeValue(value)
	if err != nil {
		return false
	}
	return compiled.Check("answer", decoded) == nil
}
