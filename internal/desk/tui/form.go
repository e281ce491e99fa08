package tui

import (
	"encoding/json"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// form is the dialog in which a person answers a question of a run. It is made from the JSON Schema of the answer: a choice, a yes or no,
// a number, a text, or JSON for everything else. The command checks the answer.
type form struct {
	what   string
	args   []string // of the command, without the answer
	fields []*formField
	object bool // the answer is an object with the fields as members
	at     int
}

// A formField is a field of a form.
type formField struct {
	name     string
	says     string
	required bool
	kind     string            // "choice", "text", "number" or "json"
	choices  []json.RawMessage // of a choice
	chosen   int               // -1 for none yet
	input    textinput.Model
}

// formSchema is the part of a JSON Schema that a form understands.
type formSchema struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Required    []string          `json:"required"`
	Properties  jsontext.Members  `json:"properties"`
}

// maxFields is the largest number of fields of a form. A larger object is typed as JSON.
const maxFields = 12

// newForm returns the form for a request. args are those of answer, without the answer.
func newForm(ask *summary.Ask, args []string) *form {
	f := &form{what: ask.What, args: args}
	var s formSchema
	if json.Unmarshal(ask.Form, &s) != nil {
		s = formSchema{}
	}
	if choices := mail.Choices(ask.Form); len(s.Enum) == 0 && len(choices) > 0 && typeOf(s) != "boolean" {
		for _, c := range choices {
			text, _ := json.Marshal(c) //nolint:errchkjson // a string
			s.Enum = append(s.Enum, text)
		}
	}
	if ask.Kind == "confirm" {
		s.Type = json.RawMessage(`"boolean"`)
	}
	if f.object = len(s.Properties) > 0 && len(s.Properties) <= maxFields; !f.object {
		f.fields = []*formField{newField("", s, true)}
	} else {
		for _, p := range s.Properties {
			var of formSchema
			_ = json.Unmarshal(p.Value, &of) // true and false are schemas, too
			required := false
			for _, name := range s.Required {
				required = required || name == p.Name
			}
			f.fields = append(f.fields, newField(p.Name, of, required))
		}
	}
	f.focus(0)
	return f
}

// typeOf returns the type of a schema, or "" if it has none or several.
func typeOf(s formSchema) (name string) {
	_ = json.Unmarshal(s.Type, &name)
	return name
}

// newField returns the field for a schema.
func newField(name string, s formSchema, required bool) *formField {
	f := &formField{name: name, says: s.Description, required: required, chosen: -1, input: textinput.New()}
	f.input.Prompt = ""
	f.input.SetWidth(40)
	if f.says == "" {
		f.says = s.Title
	}
	switch kind := typeOf(s); {
	case len(s.Enum) > 0:
		f.kind, f.choices = "choice", s.Enum
	case kind == "boolean":
		f.kind, f.choices = "choice", []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	case kind == "number" || kind == "integer":
		f.kind = "number"
	case kind == "string" || kind == "" && len(s.Properties) == 0:
		f.kind = "text"
	default:
		f.kind = "json"
	}
	for i, c := range f.choices {
		if string(c) == string(s.Default) {
			f.chosen = i
		}
	}
	if f.choices == nil && s.Default != nil {
		text := string(s.Default)
		if f.kind == "text" {
			_ = json.Unmarshal(s.Default, &text)
		}
		f.input.SetValue(text)
	}
	return f
}

// value returns what was typed as JSON, or nil for nothing. The error names the field.
func (f *formField) value() (json.RawMessage, error) {
	text := f.input.Value()
	switch {
	case f.kind == "choice":
		if f.chosen < 0 {
			return nil, nil //nolint:nilnil // nothing is chosen
		}
		return f.choices[f.chosen], nil
	case text == "":
		return nil, nil //nolint:nilnil // nothing is typed
	case f.kind == "text":
		return json.Marshal(text)
	case !json.Valid([]byte(text)):
		return nil, fault.New(fault.Usage, "%s is not %s", f.label(), map[string]string{"number": "a number", "json": "JSON"}[f.kind])
	}
	return json.RawMessage(text), nil
}

// label returns the name of the field.
func (f *formField) label() string {
	if f.name == "" {
		return "the answer"
	}
	return f.name
}

// answer returns the whole answer.
func (f *form) answer() (json.RawMessage, error) {
	var members jsontext.Members
	for _, field := range f.fields {
		value, err := field.value()
		switch {
		case err != nil:
			return nil, err
		case value == nil && field.required:
			return nil, fault.New(fault.Usage, "%s is missing", field.label())
		case value == nil:
			continue
		case !f.object:
			return value, nil
		}
		members = append(members, jsontext.Member{Name: field.name, Value: value})
	}
	if !f.object {
		return json.RawMessage("null"), nil
	}
	return json.Marshal(members)
}

// focus moves to a field.
func (f *form) focus(at int) tea.Cmd {
	f.at = (at + len(f.fields)) % len(f.fields)
	for i, field := range f.fields {
		if i != f.at {
			field.input.Blur()
		}
	}
	return f.fields[f.at].input.Focus()
}

func (*form) load(*model) tea.Cmd { return nil }

func (f *form) update(_ *model, msg tea.Msg) (cmd tea.Cmd) {
	if field := f.fields[f.at]; field.kind != "choice" {
		field.input, cmd = field.input.Update(msg)
	}
	return cmd
}

func (f *form) press(m *model, key string) (tea.Cmd, bool) {
	field := f.fields[f.at]
	switch key {
	case "tab", "down":
		return f.focus(f.at + 1), true
	case "shift+tab", "up":
		return f.focus(f.at - 1), true
	case "left", "right", "space":
		if field.kind == "choice" {
			by := map[string]int{"left": -1}[key]
			if by == 0 {
				by = 1
			}
			field.chosen = (max(field.chosen, -1) + by + len(field.choices)) % len(field.choices)
			return nil, true
		}
	case "enter":
		answer, err := f.answer()
		if err != nil {
			m.note = errorText(err)
			return nil, true
		}
		m.over = nil
		return m.ask(&action{title: "Answer " + f.args[2], says: []string{f.what}, args: append(f.args, "--value", string(answer))}), true
	}
	return nil, false
}

func (f *form) draw(m *model, width, _ int) []string {
	inner := max(min(width-4, 76), 20)
	var lines []line
	for _, part := range wrap(safe(plain.Words(f.what)), inner-2) {
		lines = append(lines, say(m.bold, " "+part))
	}
	lines = append(lines, line{})
	for i, field := range f.fields {
		mark := "   "
		if i == f.at {
			mark = " " + m.cursor + " "
		}
		name := safe(field.name)
		if field.required && field.name != "" {
			name += " *"
		}
		ln := say(m.accent, mark).add(m.none, name)
		if field.says != "" {
			ln = ln.add(m.dim, "  "+safe(plain.Words(field.says)))
		}
		lines = append(lines, ln)
		if field.kind != "choice" {
			text := safe(field.input.Value())
			if i == f.at {
				text += m.block
			}
			lines = append(lines, say(m.dim, "     "+map[string]string{"number": "number ", "json": "JSON "}[field.kind]).add(m.none, text))
			continue
		}
		choices := say(m.none, "    ")
		for j, c := range field.choices {
			text := safe(mail.ChoiceText(c))
			if j == field.chosen {
				choices = choices.add(m.bold, " ["+text+"]")
			} else {
				choices = choices.add(m.dim, "  "+text+" ")
			}
		}
		lines = append(lines, choices)
	}
	return box(m, "Answer "+strings.Join(f.args[1:3], ", "), append(lines, line{}), inner)
}

func (f *form) keys(*model) []hint {
	return []hint{{"⏎", "answer"}, {"tab", "next of " + strconv.Itoa(len(f.fields))}, {"←→", "choose"}}
}
