package arg

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// CompletionScript returns the script with which a shell completes the commands below root. shell is bash, zsh or
// fish; for any other shell, the error is usage.
func CompletionScript(root *Command, shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion(root), nil
	case "zsh":
		return zshCompletion(root), nil
	case "fish":
		return fishCompletion(root), nil
	}
	return "", fault.New(fault.Usage, "completion does not support the shell %q", shell).Hint("choose bash, zsh or fish")
}

// completions returns the words that may follow a command, separated by spaces: the names of its commands and its
// flags.
func (c *Command) completions() string {
	var words []string
	for _, child := range c.visible() {
		words = append(words, child.Name)
	}
	for _, h := range c.flagHelps() {
		words = append(words, "--"+h.long)
	}
	return strings.Join(words, " ")
}

// walk calls f for c, and then for every visible command below c, each group before its commands.
func (c *Command) walk(f func(*Command)) {
	f(c)
	for _, child := range c.visible() {
		child.walk(f)
	}
}

// bashWords returns the branches of a case statement for bash and zsh, one for root and for each visible command below
// root. The pattern of a branch is the path of the command. The branch prints the completions of the command.
func bashWords(root *Command) string {
	var b strings.Builder
	root.walk(func(c *Command) {
		fmt.Fprintf(&b, "\t%q) printf '%%s' %q ;;\n", c.Path, c.completions())
	})
	return b.String()
}

// bashTemplate is a format for fmt.Sprintf. Its only argument is the text that bashWords returns.
const bashTemplate = `# bash completion for git-smithers
_git_smithers_words() {
	case "$1" in
%s	esac
}

# The words after "smithers" choose the command: the longest path that names a command.
_git_smithers() {
	local i chosen="" word started="" glue="" words=() cur
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -z $started ]]; then
			[[ $word == smithers || $word == git-smithers || $word == */git-smithers ]] && started=1
			continue
		fi
		# bash takes words apart at : and =
		if [[ ${#words[@]} -gt 0 && ( -n $glue || $word == : || $word == = ) ]]; then
			words[${#words[@]}-1]+=$word
		else
			words+=("$word")
		fi
		glue=""
		[[ $word == : || $word == = ]] && glue=1
		[[ $word == -* || $i -eq $COMP_CWORD ]] && continue
		if [[ -n $(_git_smithers_words "${chosen:+$chosen }$word") ]]; then
			chosen="${chosen:+$chosen }$word"
		fi
	done
	cur=${words[${#words[@]}-1]}
	compopt +o nospace 2>/dev/null # git's own completion adds no spaces
	if [[ -n $chosen ]]; then
		mapfile -t COMPREPLY < <(git smithers __complete -- "${words[@]}" 2>/dev/null)
		if [[ ${#COMPREPLY[@]} -gt 0 ]]; then
			[[ $cur == *:* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${cur%%:*}:"}")
			[[ $cur == --*=* && $COMP_WORDBREAKS == *=* ]] && COMPREPLY=("${COMPREPLY[@]#"${cur%%%%=*}="}")
			[[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
			for i in "${!COMPREPLY[@]}"; do printf -v "COMPREPLY[$i]" %%q "${COMPREPLY[i]}"; done
			return
		fi
	fi
	mapfile -t COMPREPLY < <(compgen -W "$(_git_smithers_words "$chosen")" -- "${COMP_WORDS[COMP_CWORD]}")
	# Without words bash completes and quotes the names of files itself: -o default, here and in git's own completion.
}
complete -o default -F _git_smithers git-smithers
`

// bashCompletion returns the completion script for bash.
func bashCompletion(root *Command) string { return fmt.Sprintf(bashTemplate, bashWords(root)) }

// zshTemplate is a format for fmt.Sprintf. Its only argument is the text that bashWords returns.
const zshTemplate = `#compdef git-smithers
_git_smithers_words() {
	case "$1" in
%s	esac
}

# git's completion calls _git-smithers for "git smithers", with "smithers" as the first word.
_git-smithers() {
	local chosen="" word i
	for ((i = 2; i < CURRENT; i++)); do
		word=${words[i]}
		[[ $word == -* ]] && continue
		if [[ -n $(_git_smithers_words "${chosen:+$chosen }$word") ]]; then
			chosen="${chosen:+$chosen }$word"
		fi
	done
	local -a values
	if [[ -n $chosen ]]; then
		values=(${(f)"$(git smithers __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
		if (( $#values )); then
			compadd -- ${values:#*/}
			compadd -S '' -- ${(M)values:#*/}
			return
		fi
	fi
	compadd -- ${=$(_git_smithers_words "$chosen")} || _files
}
zstyle ':completion:*:*:git:*' user-commands smithers:'rewind, repair and share runs of AI agents'
if [[ $funcstack[1] == _git-smithers ]]; then
	_git-smithers "$@"
else
	compdef _git-smithers git-smithers
fi
`

// zshCompletion returns the completion script for zsh.
func zshCompletion(root *Command) string { return fmt.Sprintf(zshTemplate, bashWords(root)) }

// fishValues is the beginning of the fish script: the function that completes runs, addresses and other values.
const fishValues = `# fish completion for git-smithers
function __git_smithers_values
	set -l words (commandline -opc) (commandline -ct)
	while test (count $words) -gt 1; and not string match -qr '^(smithers|(.*/)?git-smithers)$' -- $words[1]
		set -e words[1]
	end
	git smithers __complete -- $words[2..-1] 2>/dev/null
end
`

// fishCompletion returns the completion script for fish. The script has lines for every visible command and flag below
// root. It has these lines twice: for the program git-smithers, and for git with the subcommand smithers.
func fishCompletion(root *Command) string {
	var b strings.Builder
	b.WriteString(fishValues)
	for _, program := range []string{"git-smithers", "git"} {
		within := "" // the beginning of the condition in every line
		if program == "git" {
			within = "__fish_seen_subcommand_from smithers; and "
			fmt.Fprintf(&b, "complete -c git -n __fish_use_subcommand -f -a smithers -d %s\n", fishQuote(root.Summary))
		}
		fmt.Fprintf(&b, "set -l commands %s\n", commandNames(root))
		for _, c := range root.visible() {
			fmt.Fprintf(&b, "complete -c %s -n '%snot __fish_seen_subcommand_from '\"$commands\" -f -a %s -d %s\n",
				program, within, c.Name, fishQuote(c.Summary))
		}
		root.walk(func(c *Command) {
			if c == root {
				return
			}
			fishCommand(&b, program, within, c)
		})
	}
	return b.String()
}

// fishCommand writes the lines of the fish script that complete the words after the name of the command c: the names of
// its commands, its values and its flags. program is the program whose words fish completes. within is the beginning of
// the condition in every line, or "".
func fishCommand(b *strings.Builder, program, within string, c *Command) {
	for _, child := range c.visible() {
		fmt.Fprintf(b, "complete -c %s -n '%s__fish_seen_subcommand_from %s' -f -a %s -d %s\n",
			program, within, c.Name, child.Name, fishQuote(child.Summary))
	}
	if c.completesValues() {
		fmt.Fprintf(b, "complete -c %s -n '%s__fish_seen_subcommand_from %s' -a '(__git_smithers_values)'\n", program, within, c.Name)
	}
	for _, h := range c.flagHelps() {
		fmt.Fprintf(b, "complete -c %s -n '%s__fish_seen_subcommand_from %s' -l %s", program, within, c.Name, h.long)
		if h.short != "" {
			fmt.Fprintf(b, " -s %s", h.short)
		}
		switch {
		case c.FlagKind(h.long) != "":
			b.WriteString(" -x -a '(__git_smithers_values)'")
		case h.value != "":
			b.WriteString(" -r")
		}
		fmt.Fprintf(b, " -d %s\n", fishQuote(h.usage))
	}
}

// commandNames returns the names of the visible commands of root, separated by spaces.
func commandNames(root *Command) string {
	var names []string
	for _, c := range root.visible() {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// fishQuote returns s as a quoted word of fish.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
