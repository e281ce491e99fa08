package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const packedRefs = "packed-refs"

// describeLines lists invalid lines of packed-refs.
func describeLines(lines []refs.PackedLine) string {
	const named = 100 // a binary file has any number of lines
	var parts []string
	for _, line := range lines[:min(len(lines), named)] {
		parts = append(parts, fmt.Sprintf("line %d is invalid: %.200q", line.Number, line.Text))
	}
	if more := len(lines) - named; more > 0 {
		parts = append(parts, plain.Count(more, "more line"))
	}
	return "git reads no packed ref at all: " + strings.Join(parts, "; ")
}

// lostRefs finds the user's own refs that were lost with invalid lines of packed-refs.
func (e *examination) lostRefs(ctx context.Context) (err error) {
	if e.dropped, err = e.aside.droppedLines(); err != nil {
		return err
	}
	var names []string
	for _, line := range e.dropped {
		if name := string(line.Name); name != "" && !line.Cut && !isIn(line.Name, refs.Folder) && !isIn(line.Name, refs.RemotesFolder) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	there, err := e.git.run(ctx, append([]string{"for-each-ref", "--format=%(refname)", "--"}, names...)...)
	if err != nil {
		return err
	}
	for _, name := range slices.Compact(names) {
		if !slices.Contains(strings.Fields(there), name) {
			e.note(Finding{
				Kind: LostRef, Where: name,
				What: "its line in packed-refs was invalid, and the ref is lost" + wasAt(e.git.repo.CommonDir, refs.Name(name), "") +
					"; if it is not wanted, remove smithers/damaged/packed-refs",
			}, nil)
		}
	}
	return nil
}

// wasAt returns the ref's value by its reflog, and the command that restores the ref; "" if there is no
// reflog.
func wasAt(commonDir string, name refs.Name, first string) string {
	data, err := os.ReadFile(filepath.Join(commonDir, "logs", filepath.FromSlash(string(name))))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) < 2 {
		return ""
	}
	id, err := objstore.ParseID(fields[1])
	if err != nil || id.IsZero() {
		return ""
	}
	return fmt.Sprintf("; its reflog has it at %v: %s`git update-ref %s %v`", id, first, fault.Word(string(name)), fault.Word(id.String()))
}
