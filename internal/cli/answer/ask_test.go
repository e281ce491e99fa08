package answer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// atDesk is a session with a person at a terminal who types some lines.
func atDesk(typed string) (s *session.Session, talk *strings.Builder) {
	talk = &strings.Builder{}
	s = &session.Session{Terminal: &term.Terminal{Streams: term.Streams{In: strings.NewReader(typed), Err: talk}, InTTY: true}}
	s.IsTTY = func(any) bool { return true }
	return s, talk
}

func TestAPersonIsAskedForWhatTheFormWants(t *testing.T) {
	t.Parallel()
	const flat = `{"type":"object","required":["days","risk"],"properties":{
		"days":{"type":"integer","description":"working days"},
		"risk":{"enum":["low","high"]},
		"tested":{"type":"boolean"},
		"note":{"type":"string"}}}`
	tests := map[string]struct {
		kind, form string
		typed      string
		want       string
		asks       []string // what the person sees, in this order
	}{
		"free text":              {snapshot.HumanAsk, "", "the <second> one\n", `"the <second> one"`, []string{"What now?\n", "> "}},
		"a text of a schema":     {snapshot.HumanAsk, `{"type":"string"}`, "x\r\n", `"x"`, nil},
		"no text is asked again": {snapshot.HumanAsk, "", "\n  \nyes\n", `"yes"`, []string{"type some text", "type some text"}},
		"yes":                    {snapshot.HumanConfirm, `{"type":"boolean"}`, "y\n", `true`, []string{"[y/n]> "}},
		"No":                     {snapshot.HumanConfirm, `{"type":"boolean"}`, "perhaps\nNo\n", `false`, []string{"type y or n"}},
		"the number of a choice": {
			snapshot.HumanSelect, `{"enum":["red","blue",3]}`, "0\npink\n2\n", `"blue"`,
			[]string{"  1  red\n", "  2  blue\n", "  3  3\n", "(1 to 3, or a value)> ", "type a number from 1 to 3, or one of the values"},
		},
		"the value of a choice":              {snapshot.HumanSelect, `{"enum":["red","blue",3]}`, "blue\n", `"blue"`, nil},
		"the value in JSON":                  {snapshot.HumanSelect, `{"enum":["red","blue",3]}`, "\"red\"\n", `"red"`, nil},
		"the value in other letters":         {snapshot.HumanSelect, `{"enum":["EU-west","us"]}`, "eu-West\n", `"EU-west"`, nil},
		"a value that is no choice's number": {snapshot.HumanSelect, `{"enum":[10,20]}`, "20\n", `20`, nil},
		"a number":                           {snapshot.HumanJSON, `{"type":"number"}`, "\"1\"\nlots\n1.50\n", `1.50`, []string{"type a number", "type a number"}},
		"the fields of a form, in its order": {
			snapshot.HumanJSON, flat, "3\n2\n\nsay \"hi\"\n", `{"days":3,"risk":"high","note":"say \"hi\""}`,
			[]string{"working days\n", "days (whole number)> ", "risk (1 to 2, or a value)> ", "tested [y/n] (or nothing)> ", "note (or nothing)> "},
		},
		"required fields are asked first": {
			snapshot.HumanJSON, `{"type":"object","required":["z","m"],"properties":{"a":{"type":"string"},"z":{"type":"string"},"m":{"type":"string"}}}`,
			"1\n2\n\n", `{"z":"1","m":"2"}`,
			[]string{"z> ", "m> ", "a (or nothing)> "},
		},
		"what the schema refuses is asked again": {
			snapshot.HumanJSON, `{"type":"object","required":["day"],"properties":{"day":{"type":"string","format":"date"},"n":{"type":"integer","maximum":3}}}`,
			"tomorrow\n2026-11-30\n4\n1.5\n3\n", `{"day":"2026-11-30","n":3}`,
			[]string{`"tomorrow" is no date; write it like 2026-12-01`, "day> ", "the value: must be at most 3, not 4", "type a whole number"},
		},
		"Enter takes the default": {
			snapshot.HumanJSON, `{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean","default":true},"name":{"type":"string","default":"a\u001b[m"},
				"n":{"type":"integer","default":2},"risk":{"enum":["low","high"],"default":"low"},"none":{"type":"string"}}}`,
			"\n\n5\n\n\n", `{"ok":true,"name":"a\u001b[m","n":5,"risk":"low"}`,
			[]string{"ok [y/n] (Enter: true)> ", `name (Enter: a\x1b[m)> `, "n (whole number) (Enter: 2)> ", "risk (1 to 2, or a value) (Enter: low)> ", "none (or nothing)> "},
		},
		"Enter takes the default of a single value": {
			snapshot.HumanConfirm, `{"type":"boolean","default":false}`, "\n", `false`, []string{"[y/n] (Enter: false)> "},
		},
		"a form of nothing that is required": {
			snapshot.HumanJSON, `{"type":"object","properties":{"a":{"type":"string"}}}`, "\n", `{}`, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, talk := atDesk(test.typed)
			got, err := askForAnswer(s, "a", snapshot.HumanRequest{Kind: test.kind, Prompt: "What now?", Form: json.RawMessage(test.form)})
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
			rest := talk.String()
			for _, text := range test.asks {
				_, after, found := strings.Cut(rest, text)
				assert.True(t, found, "%q in %q", text, rest)
				rest = after
			}
		})
	}
}

func TestNobodyIsAskedForAFormThatIsNotFlat(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]string{
		"a list":             `{"type":"array","items":{"type":"string"}}`,
		"an object in it":    `{"type":"object","properties":{"a":{"type":"object"}}}`,
		"several types":      `{"type":["string","null"]}`,
		"an unknown content": `{"type":"object"}`,
		"anything":           `true`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := atDesk("x\n")
			_, err := askForAnswer(s, "a", snapshot.HumanRequest{Kind: snapshot.HumanJSON, Prompt: "What now?", Form: json.RawMessage(form)})
			require.Equal(t, fault.Usage, fault.CodeOf(err))
			assert.Contains(t, s.Describe(err).Hints[1], form, "it is shown")
		})
	}
}

func TestTheEndOfTheInputIsNoAnswer(t *testing.T) {
	t.Parallel()
	s, _ := atDesk("not a whole line")
	_, err := askForAnswer(s, "a", snapshot.HumanRequest{Kind: snapshot.HumanAsk, Prompt: "What now?"})
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
}

func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	t.Parallel()
	for kind, flag := range map[string]string{
		snapshot.HumanAsk: "--text", snapshot.HumanConfirm: "--yes or --no", snapshot.HumanSelect: "--value", snapshot.HumanJSON: "--value",
	} {
		s, talk := atDesk("y\n")
		s.InTTY = false
		_, err := askForAnswer(s, "a", snapshot.HumanRequest{Kind: kind, Prompt: "What now?"})
		require.Equal(t, fault.Usage, fault.CodeOf(err))
		assert.Contains(t, s.Describe(err).Hints[0], "What now?")
		assert.Contains(t, s.Describe(err).Hints[1], flag)
		assert.Empty(t, talk.String())
	}
}

func TestAQuestionCannotDriveATerminal(t *testing.T) {
	t.Parallel()
	s, talk := atDesk("1\n")
	_, err := askForAnswer(s, "a", snapshot.HumanRequest{
		Kind: snapshot.HumanJSON, Prompt: "a\x1b[2J\nb", Form: json.RawMessage(`{"type":"object","properties":{
			"x\u001b[m":{"enum":["\u001b[5m"],"description":"\u202e"}}}`),
	})
	require.NoError(t, err)
	assert.Contains(t, talk.String(), "\nb\n", "lines are lines")
	for _, bad := range []string{"\x1b", "\u202e"} {
		assert.NotContains(t, talk.String(), bad)
	}
}

func TestAFormThatNobodyCanBeAskedForIsShownOnOneLine(t *testing.T) {
	t.Parallel()
	_, err := parseForm(snapshot.HumanRequest{Prompt: "Which?", Form: json.RawMessage("{\n  \"type\": \"array\"\n}")})
	var e *fault.Error
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.Hints, `give the whole answer with --value; its schema is {"type":"array"}`)
}

// A word that is the number of one choice and the value of another is asked again.
func TestAChoiceThatCouldMeanTwoIsAskedAgain(t *testing.T) {
	t.Parallel()
	s, talk := atDesk("1\n2\n")
	_, err := askForAnswer(s, "a", snapshot.HumanRequest{Kind: snapshot.HumanSelect, Prompt: "Which?", Form: json.RawMessage(`{"enum":[3,1,2]}`)})
	require.Error(t, err) // both lines could mean two, and the input has ended
	assert.Contains(t, talk.String(), "1 is the number of one choice and the value of another")
	assert.Contains(t, talk.String(), "2 is the number of one choice and the value of another")
}
