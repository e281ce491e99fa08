package answer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A formKind is the way in which a typed line is read as a value.
type formKind int

const (
	formText formKind = iota
	formBoolean
	formNumber
	formInteger
	formChoice
)

// A formValue describes one value of an answer.
type formValue struct {
	kind     formKind
	about    string            // the title and description of the schema
	choices  []json.RawMessage // the values to choose from, for formChoice
	required bool
	preset   json.RawMessage // the value of an empty line; nil: none
	schema   json.RawMessage // the schema of the value; nil accepts each
}

// maxPreset is the length of the longest default that a prompt shows whole.
const maxPreset = 60

// A form describes an answer that a person can type line by line. The answer is one value, or an object whose fields
// are in the order of the schema, the required ones first.
type form struct {
	value  formValue
	fields []formField // nil for one value
}

// A formField is one field of a form for an object.
type formField struct {
	name  string
	value formValue
}

// formSchema is the part of a JSON Schema from which questions are made. The engine checks the answer against the
// whole schema.
type formSchema struct {
	Type        json.RawMessage   `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
}

// parseForm turns h.Form, a JSON Schema, into a form. Without a schema, the form is one required text. A schema for one
// value gives a form of one value. A schema for an object whose properties are all single values gives a form with one
// field for each property. For any other schema, the error is usage, because a person cannot answer it line by line.
func parseForm(h snapshot.HumanRequest) (form, error) {
	if len(h.Form) == 0 {
		return form{value: formValue{kind: formText, required: true}}, nil
	}
	var whole formSchema
	if json.Unmarshal(h.Form, &whole) != nil {
		return form{}, notAskable(h)
	}
	if value, ok := whole.value(); ok {
		value.required, value.schema = true, h.Form
		return form{value: value}, nil
	}
	var properties jsontext.Members
	if json.Unmarshal(whole.Properties, &properties) != nil || whole.typeName() != "object" {
		return form{}, notAskable(h)
	}
	out := form{fields: []formField{}}
	for _, property := range properties {
		var of formSchema
		if json.Unmarshal(property.Value, &of) != nil {
			return form{}, notAskable(h)
		}
		value, ok := of.value()
		if !ok {
			return form{}, notAskable(h)
		}
		value.schema, value.required = property.Value, slices.Contains(whole.Required, property.Name)
		out.fields = append(out.fields, formField{property.Name, value})
	}
	out.fields = mail.RequiredFirst(out.fields, func(f formField) bool { return f.value.required })
	return out, nil
}

// notAskable returns the usage error for a form that a person cannot fill in line by line. Its hints show the
// question and the schema of the answer.
func notAskable(h snapshot.HumanRequest) error {
	return fault.New(fault.Usage, "the form of this question cannot be filled in line by line").
		Hint("the question is: %s", h.Prompt).
		Hint("give the whole answer with --value; its schema is %s", schema.Compact(h.Form))
}

// typeName returns the schema's type, or "" if the schema has none or several.
func (f formSchema) typeName() string {
	var name string
	if json.Unmarshal(f.Type, &name) != nil {
		return ""
	}
	return name
}

// value returns the formValue for the schema. The caller must set its field required. ok is false if the schema
// describes no choice, text, number or boolean. A schema with an enum is a choice, whatever its type.
func (f formSchema) value() (v formValue, ok bool) {
	v.about, v.preset = strings.TrimSpace(strings.TrimSpace(f.Title)+"\n"+f.Description), f.Default
	switch name := f.typeName(); {
	case len(f.Enum) > 0:
		v.kind, v.choices = formChoice, f.Enum
	case name == "string":
		v.kind = formText
	case name == "boolean":
		v.kind = formBoolean
	case name == "number":
		v.kind = formNumber
	case name == "integer":
		v.kind = formInteger
	default:
		return v, false
	}
	return v, true
}

// expects returns the end of the prompt for v, which tells the person what to type. It is "" for a required text without a default.
func (v formValue) expects() string {
	var what string
	switch v.kind {
	case formBoolean:
		what = "[y/n]"
	case formNumber:
		what = "(number)"
	case formInteger:
		what = "(whole number)"
	case formChoice:
		what = "(1 to " + strconv.Itoa(len(v.choices)) + ", or a value)"
	case formText:
	}
	switch {
	case v.preset != nil:
		what += " (Enter: " + plain.Text(plain.Cut(mail.ChoiceText(v.preset), maxPreset)) + ")"
	case !v.required:
		what += " (or nothing)"
	}
	return strings.TrimSpace(what)
}
