package inspect

import (
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A lineRange selects lines of a log. The zero value selects all lines.
type lineRange struct {
	tail  int // the number of lines at the end; 0: from decides
	from  int // the number of the first line, from 1; 0 means 1
	limit int // the largest number of lines; 0 means all
}

// parseLineRange reads --tail, --from and --limit. The error is usage if a number is below 1, or if --tail stands beside another
// of the flags.
func parseLineRange(cmd *arg.Command, c *urfave.Context) (lineRange, error) {
	r := lineRange{tail: c.Int("tail"), from: c.Int("from")}
	for _, flag := range []string{"tail", "from"} {
		if c.IsSet(flag) && c.Int(flag) < 1 {
			return r, fault.New(fault.Usage, "--%s cannot be %d", flag, c.Int(flag)).Hint("use a number from 1")
		}
	}
	if r.tail > 0 && (c.IsSet("from") || c.IsSet("limit")) {
		return r, cmd.Misused("--tail does not go with --from or --limit")
	}
	if c.Bool("follow") && c.IsSet("limit") {
		return r, cmd.Misused("--limit does not go with --follow")
	}
	var err error
	r.limit, err = arg.ParseLimit(c)
	return r, err
}

// skipped returns how many lines are before the range in a log with total lines.
func (r lineRange) skipped(total int) int {
	if r.tail > 0 {
		return max(0, total-r.tail)
	}
	return min(max(0, r.from-1), total)
}

// of returns the lines of text in the range, the number of the first one, and how many lines text has. part is "" if text does not
// have the lines.
func (r lineRange) of(text string) (part string, from, total int) {
	lines := linesOf(text)
	skipped := r.skipped(len(lines))
	picked := lines[skipped:]
	if r.limit > 0 {
		picked = picked[:min(r.limit, len(picked))]
	}
	return strings.Join(picked, ""), skipped + 1, len(lines)
}

// linesOf returns the lines of text with their line feeds. The last line may have none.
func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}
