package dialect

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// insideFiles has the commands that a person can call in an agent, and the skill: `description: `, `hint: ` and, after an empty line, what the
// agent is told. pi and opencode load programs instead.
//
//go:embed inside
var insideFiles embed.FS

// CommandNames lists the commands that a person can call in an agent, without the sign before them.
var CommandNames = []string{"rewind-files", "what-if", "checkpoint", "timeline"}

// SkillName is the name of the skill.
const SkillName = "git-smithers"

// An Extra is a file that makes commands of git-smithers, or its skill, known to an agent.
type Extra struct {
	File string // relative to the top of the working copy, with slashes
	Text string
}

// inside says where an agent looks for commands of a person's own and for skills, and how they are written.
type inside struct {
	commands string // the path of a command, with * in the place of its name; that of the program, if there is one
	program  string // the file with the program that adds all commands; "" for one file a command
	write    func(t text) string
	sign     string // what a person types before the name of a command
	skills   string // the folder of the skills
}

// insides has the agents that know commands or skills, by name. Codex CLI and Copilot CLI have no commands of a person's own: there, each is a skill
// that a person calls by its name.
var insides = map[string]inside{
	Claude:   {commands: ".claude/commands/*.md", write: text.claude, sign: "/", skills: ".claude/skills"},
	Codex:    {commands: ".codex/skills/*/SKILL.md", write: text.skill, sign: "$", skills: ".codex/skills"},
	Gemini:   {commands: ".gemini/commands/*.toml", write: text.toml, sign: "/", skills: ".gemini/skills"},
	Opencode: {commands: ".opencode/plugin/git-smithers-commands.js", program: "opencode.js", sign: "/", skills: ".opencode/skill"},
	Pi:       {commands: ".pi/extensions/git-smithers-commands.ts", program: "pi.ts", sign: "/", skills: ".pi/skills"},
	Kilo:     {commands: ".kilo/plugin/git-smithers-commands.js", program: "opencode.js", sign: "/", skills: ".kilo/skill"},
	Qwen:     {commands: ".qwen/commands/*.md", write: text.qwen, sign: "/", skills: ".qwen/skills"},
	Copilot:  {commands: ".github/skills/*/SKILL.md", write: text.skill, sign: "/", skills: ".github/skills"},
}

// Commands returns the files that make the commands known to the agent, or nil if the agent knows none.
func (d *Dialect) Commands() []Extra {
	of, ok := insides[d.Name]
	if !ok {
		return nil
	}
	if of.program != "" {
		program := insideFile(of.program)
		if d.Name == Kilo { // a fork of opencode
			program = strings.ReplaceAll(program, Opencode, Kilo)
		}
		return []Extra{{File: of.commands, Text: program}}
	}
	var all []Extra
	for _, name := range CommandNames {
		all = append(all, Extra{File: strings.ReplaceAll(of.commands, "*", name), Text: of.write(readText(name, of.sign))})
	}
	return all
}

// Skill returns the file that makes the skill known to the agent, or nil if the agent knows no skills.
func (d *Dialect) Skill() []Extra {
	of, ok := insides[d.Name]
	if !ok {
		return nil
	}
	skill := readText("skill", of.sign)
	head := frontMatter("name", SkillName, "description", skill.description)
	return []Extra{{File: of.skills + "/" + SkillName + "/SKILL.md", Text: head + skill.body}}
}

// insideFile returns the text of an embedded file. Its name is one of this package.
func insideFile(name string) string {
	data, _ := insideFiles.ReadFile("inside/" + name)
	return string(data)
}

// text is a command or the skill, in no agent's form.
type text struct{ name, sign, description, hint, body string }

// wordsMark stands in the body of a command for what a person types after its name.
const wordsMark = "{{words}}"

// readText returns the text of a command or of the skill.
func readText(name, sign string) text {
	head, body, _ := strings.Cut(insideFile(name+".md"), "\n\n")
	t := text{name: name, sign: sign, body: body + "\n(`git smithers session enable` wrote this file, and `git smithers session disable` removes it.)\n"}
	for line := range strings.SplitSeq(head, "\n") {
		if value, ok := strings.CutPrefix(line, "description: "); ok {
			t.description = value
		} else if value, ok := strings.CutPrefix(line, "hint: "); ok {
			t.hint = value
		}
	}
	return t
}

// with returns the body with words in the place of what a person types.
func (t text) with(words string) string { return strings.ReplaceAll(t.body, wordsMark, words) }

// frontMatter returns names of members and their values in YAML, as they stand above Markdown. A member without a value is left out.
func frontMatter(pairs ...string) string {
	var b strings.Builder
	for pair := range slices.Chunk(pairs, len([]string{"name", "value"})) {
		if pair[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", pair[0], pair[1])
		}
	}
	return "---\n" + b.String() + "---\n\n"
}

// markdown writes a command with the agent's own mark in the place of what a person types. The model does not call it unasked.
func (t text) markdown(words string) string {
	return frontMatter("description", t.description, "argument-hint", t.hint, "disable-model-invocation", "true") + t.with(words)
}

// claude writes a command for Claude Code.
func (t text) claude() string { return t.markdown("$ARGUMENTS") }

// qwen writes a command for Qwen Code.
func (t text) qwen() string { return t.markdown("{{args}}") }

// toml writes a command for Gemini CLI. No text has three single quotes.
func (t text) toml() string {
	return fmt.Sprintf("description = %q\nprompt = '''\n%s'''\n", t.description, t.with("{{args}}"))
}

// skill writes a command as a skill. Nothing is put into a skill: the person's words are in the prompt.
func (t text) skill() string {
	called := t.sign + t.name
	return frontMatter("name", t.name, "description", fmt.Sprintf("%s. Only for a person who calls %s", t.description, called), "disable-model-invocation", "true") +
		t.with("(what follows "+called+" in the person's prompt)")
}
