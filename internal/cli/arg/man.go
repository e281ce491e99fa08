package arg

import (
	"fmt"
	"io"
	"strings"
)

// WriteMan writes the man page about root and all visible commands below root to w.
func WriteMan(w io.Writer, root *Command) error {
	var b strings.Builder
	b.WriteString(".TH GIT\\-SMITHERS 1 \"\" \"git\\-smithers\" \"Git Manual\"\n")
	b.WriteString(".SH NAME\n")
	fmt.Fprintf(&b, "git\\-smithers \\- %s\n", roff(root.Summary))
	b.WriteString(".SH SYNOPSIS\n.nf\n")
	for _, leaf := range root.leaves() {
		for _, line := range leaf.usageLines() {
			fmt.Fprintf(&b, "%s\n", roff(line))
		}
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	roffParagraphs(&b, root.About)
	b.WriteString(".SH COMMANDS\n")
	for _, leaf := range root.leaves() {
		leaf.writeMan(&b)
	}
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n")
	roffFlags(&b, root.flagHelps())
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitStatuses() {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.status, roff(e.meaning))
	}
	b.WriteString(".SH SEE ALSO\n.BR git (1)\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// leaves returns the commands below c that can be run and are not hidden.
func (c *Command) leaves() []*Command {
	var out []*Command
	for _, child := range c.visible() {
		if child.Run != nil {
			out = append(out, child)
		}
		out = append(out, child.leaves()...)
	}
	return out
}

// writeMan writes the section of the man page about the command c: its summary, description, own flags and examples.
// The common flags have a section of their own.
func (c *Command) writeMan(b *strings.Builder) {
	fmt.Fprintf(b, ".SS %s\n", roff(c.Path))
	fmt.Fprintf(b, "%s.\n", roff(strings.ToUpper(c.Summary[:1])+c.Summary[1:]))
	if c.About != "" {
		b.WriteString(".PP\n")
		roffParagraphs(b, c.About)
	}
	roffFlags(b, c.flagHelps()[:len(c.Flags)-len(commonFlags())]) // the common flags are the last ones
	for _, e := range c.Examples {
		fmt.Fprintf(b, ".PP\n%s:\n.PP\n.RS 4\n.nf\n%s\n.fi\n.RE\n", roff(strings.ToUpper(e.what()[:1])+e.what()[1:]), roff(e.line()))
	}
}

// roffFlags writes a paragraph in roff for each flag.
func roffFlags(b *strings.Builder, flags []flagHelp) {
	for _, h := range flags {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(h.spelling())), roff(h.usage))
	}
}

// roffParagraphs writes text as paragraphs in roff. troff fills these paragraphs, but keeps the line breaks of lines
// that begin with two spaces. An empty line in text begins a new paragraph.
func roffParagraphs(b *strings.Builder, text string) {
	verbatim := false
	for line := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !verbatim:
			b.WriteString(".RS 4\n.nf\n")
		case !indented && verbatim:
			b.WriteString(".fi\n.RE\n")
		}
		verbatim = indented
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(strings.TrimSpace(line)) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n.RE\n")
	}
}

// roff returns the text s escaped, so that troff prints it as text and not as commands. It writes a typographic
// apostrophe and an ellipsis in ASCII.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\&...`, "’", "'").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}
