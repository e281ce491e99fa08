package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestParseFindsFlagsWhereverTheyStand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line        string
		path        string
		flags, args []string
		help        bool
	}{
		"flags after arguments":                {"fork a:1 --label x", "fork", []string{"--label=x"}, []string{"a:1"}, false},
		"flags before arguments":               {"fork --label x a:1", "fork", []string{"--label=x"}, []string{"a:1"}, false},
		"flags between arguments":              {"diff a --json b", "diff", []string{"--json"}, []string{"a", "b"}, false},
		"flags before the command":             {"--json --color never runs", "runs", []string{"--json", "--color=never"}, nil, false},
		"a value after an equals sign":         {"fork a --label=x=y", "fork", []string{"--label=x=y"}, []string{"a"}, false},
		"an empty value":                       {"fork a --label=", "fork", []string{"--label="}, []string{"a"}, false},
		"a value that looks like a flag":       {"fork a --label --json", "fork", []string{"--label=--json"}, []string{"a"}, false},
		"a value that is two dashes":           {"fork a --label -- b", "fork", []string{"--label=--"}, []string{"a", "b"}, false},
		"a short flag":                         {"fork a -l x", "fork", []string{"--label=x"}, []string{"a"}, false},
		"a short flag with its value attached": {"fork -lx a", "fork", []string{"--label=x"}, []string{"a"}, false},
		"a short flag with an equals sign":     {"fork -l=x a", "fork", []string{"--label=x"}, []string{"a"}, false},
		"one dash before a long name":          {"fork -label x", "fork", []string{"--label=abel"}, []string{"x"}, false},
		"short flags in one":                   {"fork -qlx a", "fork", []string{"--quiet", "--label=x"}, []string{"a"}, false},
		"two dashes end the flags":             {"fork --json -- --label x", "fork", []string{"--json"}, []string{"--label", "x"}, false},
		"only the first two dashes count":      {"fork -- a -- b", "fork", nil, []string{"a", "--", "b"}, false},
		"one dash is an argument":              {"fork -", "fork", nil, []string{"-"}, false},
		"a boolean with a value":               {"runs --json=false", "runs", []string{"--json=false"}, nil, false},
		"a flag that repeats":                  {"fork -n a -n b,c r", "fork", []string{"--node=a", "--node=b,c"}, []string{"r"}, false},
		"a command of a group":                 {"index rebuild --json", "index rebuild", []string{"--json"}, nil, false},
		"help of a command":                    {"help index rebuild", "index rebuild", nil, nil, true},
		"help of all commands":                 {"help --all", "", nil, nil, true},
		"help of a command called by --all":    {"-h --all runs", "runs", nil, nil, true},
		"help as a flag, arguments missing":    {"fork -h", "fork", nil, nil, true},
		"help after two dashes is an argument": {"fork -- -h", "fork", nil, []string{"-h"}, false},
		"the version as a flag":                {"--version", "version", nil, nil, false},
		"a command's name as an argument":      {"fork help", "fork", nil, []string{"help"}, false},
		"nothing":                              {"", "", nil, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := arg.Parse(tree(), strings.Fields(test.line))
			require.NoError(t, err)
			assert.Equal(t, test.path, in.Command.Path)
			assert.Equal(t, test.flags, in.Flags)
			assert.Equal(t, test.args, in.Args)
			assert.Equal(t, test.help, in.Help)
		})
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line    string
		code    fault.Code
		message string
		hint    string
	}{
		"unknown command, near one":       {"frok", fault.UnknownCommand, `"frok" is not a command of git smithers`, "did you mean `git smithers fork`?"},
		"a command of one group":          {"what-if", fault.UnknownCommand, `"what-if" is not a command of git smithers`, "did you mean `git smithers session what-if`?"},
		"a command of several groups":     {"add", fault.UnknownCommand, `"add" is not a command of git smithers`, "`git smithers -h` lists the commands"},
		"unknown command, near none":      {"frobnicate", fault.UnknownCommand, `"frobnicate" is not a command of git smithers`, "`git smithers -h` lists the commands"},
		"unknown command of a group":      {"index rebiuld", fault.UnknownCommand, `"rebiuld" is not a command of git smithers index`, "did you mean `git smithers index rebuild`?"},
		"hidden commands are not offered": {"mam", fault.UnknownCommand, `"mam" is not a command of git smithers`, "`git smithers -h` lists the commands"},
		"unknown flag, near one":          {"fork --lable x a", fault.Usage, "fork has no flag --lable", "did you mean --label?"},
		"unknown flag, near none":         {"fork --frobnicate a", fault.Usage, "fork has no flag --frobnicate", "`git smithers fork -h` lists the flags of the command"},
		"unknown flag with a value":       {"fork --lable=x a", fault.Usage, "fork has no flag --lable", "did you mean --label?"},
		"unknown flag before a command":   {"--label x fork", fault.Usage, "unknown flag --label", "`git smithers -h` lists the commands and flags"},
		"unknown letter":                  {"fork -x a", fault.Usage, "fork has no flag -x", "`git smithers fork -h` lists the flags of the command"},
		"three dashes":                    {"fork ---json a", fault.Usage, "fork has no flag ---json", "did you mean --json?"},
		"a value is missing":              {"fork a --label", fault.Usage, "--label needs a value", ""},
		"a short flag's value is missing": {"fork a -l", fault.Usage, "-l needs a value", ""},
		"two dashes and no command":       {"-- runs", fault.Usage, "type a command before --", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := arg.Parse(tree(), strings.Fields(test.line))
			var coded *fault.Error
			require.ErrorAs(t, err, &coded)
			assert.Nil(t, in)
			assert.Equal(t, test.code, coded.Code)
			assert.Equal(t, test.message, coded.Msg)
			require.Len(t, coded.Hints, 1)
			if test.hint != "" {
				assert.Equal(t, test.hint, coded.Hints[0])
			}
		})
	}
}

// Wherever flags stand among the arguments, the command line means the same.
func TestParseDoesNotDependOnWhereFlagsStand(t *testing.T) {
	t.Parallel()
	flags := [][]string{{"--json"}, {"--label", "x"}, {"--label=--json"}, {"-n", "a,b"}, {"-nc"}, {"-q"}, {"--input", "-"}}
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b:7", "-", "help", "=", "ü"}), 0, 4).Draw(t, "args")
		chosen := rapid.SliceOfN(rapid.SampledFrom(flags), 0, 5).Draw(t, "flags")
		front := slices.Concat([]string{"fork"}, slices.Concat(chosen...), args)
		var mixed []string
		for _, flag := range chosen {
			n := rapid.IntRange(0, len(args)).Draw(t, "before")
			mixed = slices.Concat(mixed, args[:n], flag)
			args = args[n:]
		}
		mixed = slices.Concat([]string{"fork"}, mixed, args)

		want, err := arg.Parse(tree(), front)
		require.NoError(t, err)
		got, err := arg.Parse(tree(), mixed)
		require.NoError(t, err)
		assert.Equal(t, argv(want), argv(got))
	})
}

// argv is the command line of an invocation, with the flags before the arguments.
func argv(in *arg.Invocation) []string {
	return slices.Concat(strings.Fields(in.Command.Path), in.Flags, []string{"--"}, in.Args)
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"", "fork a:1 --label x", "-- x", "fork -qlx -- -h", "index rebuild --json", "help fork", "--version",
		"diff --color=never a b", "fork ---", "fork -é a", "run -i - w", "fork -l",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"))
	}
	root := tree()
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		in, err := arg.Parse(root, args)
		if err != nil {
			assert.Nil(t, in)
			assert.Contains(t, []fault.Code{fault.Usage, fault.UnknownCommand}, fault.CodeOf(err))
			return
		}
		if in.Command.Run == nil || in.Help {
			return
		}
		for _, flag := range in.Flags {
			name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			assert.NotNil(t, in.Command.Flag(name), "%q is a flag of the command", name)
		}
		again, err := arg.Parse(root, argv(in))
		require.NoError(t, err, "what is handed on parses")
		assert.Equal(t, argv(in), argv(again), "and means the same")
	})
}
