package answer

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// againError is the error for a typed answer that does not fit the form. The asker shows the reason and asks again.
type againError struct{ why string }

// Error returns the reason why the line does not fit. The reason tells the person what to type.
func (e againError) Error() string { return e.why }

// An asker asks the person at the terminal for values, line by line.
type asker struct {
	s  *session.Session
	in *bufio.Reader
}

// askForAnswer shows the human request h of a run to the person at the terminal, and returns the typed answer. run is
// the id of the run. If a typed line does not fit the form, askForAnswer asks again. The engine still has to check the
// answer. The error is usage if there is no terminal, or if the form cannot be filled in line by line.
func askForAnswer(s *session.Session, run string, h snapshot.HumanRequest) (json.RawMessage, error) {
	if !s.InTTY || !s.AtTerminal(s.Err) {
		return nil, noTerminal(run, h)
	}
	form, err := parseForm(h)
	if err != nil {
		return nil, err
	}
	for _, line := range plain.Lines(h.Prompt) {
		s.Talk("%s\n", line)
	}
	return asker{s, bufio.NewReader(s.In)}.answer(form)
}

// noTerminal returns the usage error for a command line without an answer, if there is no terminal to ask at. The hints
// of the error have the question, the choices if there are any, and a way to answer on the command line. run is the id
// of the run that has the human request h.
func noTerminal(run string, h snapshot.HumanRequest) error {
	out := fault.New(fault.Usage, "the command line has no answer, and there is no terminal to ask for it").Hint("the question is: %s", h.Prompt)
	choices := mail.Choices(h.Form)
	if len(choices) == 0 {
		return out.Hint("%s", howToAnswer(h.Kind))
	}
	args := []string{"answer", run, h.NodeID, choices[0]}
	if h.Iteration > 0 {
		args = append(args, "--iteration", strconv.Itoa(h.Iteration))
	}
	return out.Hint("the choices are: %s", display.ListUpTo(mail.ChoicesShown, choices)).Hint("`%s` answers with the first choice", fault.CommandLine(arg.Program, args...))
}

// readAnswer converts an answer from the command line to JSON, by the rules for lines that a person types at the
// terminal. words has the text of the answer. The error is invalid_input if the answer does not fit the form of h. The
// error is usage if the form has several values, or cannot be filled in line by line.
func readAnswer(h snapshot.HumanRequest, words string) (json.RawMessage, error) {
	form, err := parseForm(h)
	if err != nil {
		return nil, err
	}
	if form.fields != nil {
		return nil, fault.New(fault.Usage, "the question asks for several values").
			Hint("give the whole answer with --value; its schema is %s", schema.Compact(h.Form))
	}
	value, err := form.value.read(words)
	if again, ok := errors.AsType[againError](err); ok {
		out := fault.New(fault.InvalidInput, "%q does not answer the question: %s", words, again.why)
		if choices := mail.Choices(h.Form); len(choices) > 0 {
			out = out.Hint("the choices are: %s", display.ListUpTo(mail.ChoicesShown, choices))
		}
		return nil, out
	}
	return value, err
}

// howToAnswer returns a sentence with the flag that answers a request of this kind.
func howToAnswer(kind string) string {
	switch kind {
	case snapshot.HumanAsk:
		return "answer with --text TEXT"
	case snapshot.HumanConfirm:
		return "answer with --yes or --no"
	}
	return "answer with --value JSON"
}

// answer asks for the values of the form f, and returns the answer as JSON. For a form of one value, the answer is this
// value. For a form with fields, the answer is an object. The object has the fields to which the person gave a value.
func (a asker) answer(f form) (json.RawMessage, error) {
	if f.fields == nil {
		value, _, err := a.value("", f.value)
		return value, err
	}
	out := jsontext.Members{}
	for _, field := range f.fields {
		value, given, err := a.value(field.name, field.value)
		if err != nil {
			return nil, err
		}
		if given {
			out = append(out, jsontext.Member{Name: field.name, Value: value})
		}
	}
	return out.MarshalJSON()
}

// value asks for the value v until the person types a line that fits v, and returns this line as JSON. It first prints
// the text about v and the choices, if there are any. name is the name of the field, or "" for a form of one value.
// If the person types nothing, the value is the default. given is false with an error, or if there is no default and v is optional.
func (a asker) value(name string, v formValue) (value json.RawMessage, given bool, err error) {
	if v.about != "" {
		a.s.Talk("%s\n", strings.Join(plain.Lines(v.about), "\n"))
	}
	for i, choice := range v.choices {
		a.s.Talk("  %d  %s\n", i+1, plain.Text(mail.ChoiceText(choice)))
	}
	for {
		line, err := a.line(name, v)
		if err != nil {
			return nil, false, err
		}
		if strings.TrimSpace(line) == "" && (v.preset != nil || !v.required) {
			return v.preset, v.preset != nil, nil
		}
		value, err := v.read(line)
		if err == nil {
			err = v.check(value)
		}
		if again, ok := errors.AsType[againError](err); ok {
			a.s.Talk("%s\n", plain.Text(again.why))
			continue
		}
		return value, err == nil, err
	}
}

// line prints the prompt for the value v, reads a line, and returns the line without its line end. name is the name of
// the field, or "" for a form of one value. The error is usage if the input has ended.
func (a asker) line(name string, v formValue) (string, error) {
	a.s.Talk("%s> ", strings.TrimSpace(plain.Text(name)+" "+v.expects()))
	line, err := a.in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "", fault.New(fault.Usage, "the input ended before the answer").Hint("nothing was changed; type the command again to answer")
	}
	return strings.TrimRight(line, "\r\n"), err
}

// read returns the JSON value of a typed line. A text keeps the white space around it; for all other kinds, read
// ignores this white space. The error is an againError if the line does not fit v. The reason in this error tells the
// person what to type.
func (v formValue) read(line string) (json.RawMessage, error) {
	word := strings.TrimSpace(line)
	switch v.kind {
	case formChoice:
		return v.choose(word)
	case formBoolean:
		switch strings.ToLower(word) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, againError{"type y or n"}
	case formNumber, formInteger:
		var number json.Number
		if json.Unmarshal([]byte(word), &number) != nil || word[0] == '"' { // a json.Number also accepts a string
			return nil, againError{"type a number"}
		}
		if v.kind == formInteger && strings.ContainsAny(word, ".eE") {
			return nil, againError{"type a whole number"}
		}
		return json.RawMessage(word), nil
	case formText:
		if word == "" {
			return nil, againError{"type some text"}
		}
	}
	return term.EncodeValue(line)
}

// check returns an againError if the value does not fit the schema of v. If the schema is not valid without the rest of the form, every
// value fits: the engine checks the whole answer.
func (v formValue) check(value json.RawMessage) error {
	compiled, err := schema.Compile(v.schema, &schema.Bounds{Stored: true})
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	_, decoded, err := schema.DecodeValue(value)
	if err == nil {
		err = compiled.Check("the value", decoded)
	}
	if err != nil {
		return againError{err.Error()}
	}
	return nil
}

// choose returns the choice that word names, by its number or by its value. If no value is equal to word, choose also
// accepts a value in another letter case. The error is an againError if there is no such choice, or if word is the
// number of one choice and the value of another.
func (v formValue) choose(word string) (json.RawMessage, error) {
	// byValue and byNumber are the indexes of the choices that word names, or -1. If word names a choice in only one
	// of the two ways, both become the index of this choice.
	byValue := slices.IndexFunc(v.choices, func(choice json.RawMessage) bool {
		return word == mail.ChoiceText(choice) || word == string(choice)
	})
	if byValue < 0 {
		byValue = slices.IndexFunc(v.choices, func(choice json.RawMessage) bool { return strings.EqualFold(word, mail.ChoiceText(choice)) })
	}
	n, err := strconv.Atoi(word)
	byNumber := n - 1
	if err != nil || n < 1 || n > len(v.choices) {
		byNumber = byValue
	}
	if byValue < 0 {
		byValue = byNumber
	}
	switch {
	case byNumber < 0:
		return nil, againError{"type a number from 1 to " + strconv.Itoa(len(v.choices)) + ", or one of the values"}
	case byNumber != byValue:
		return nil, againError{word + " is the number of one choice and the value of another: answer with --value"}
	}
	return v.choices[byNumber], nil
}
