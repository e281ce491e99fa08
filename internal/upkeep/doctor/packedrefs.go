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

// packedRefs is the name of the file with packed refs, in the common directory.
const packedRefs = "packed-refs"

// describeLines returns the description of a packed-refs file with the given invalid lines. It quotes at most
// 100 lines, and at most 200 characters of each.
func describeLines(lines []refs.PackedLine) string {
	const named = 100 // a binary file may have very many lines
	var parts []string
	for _, line := range lines[:min(len(lines), named)] {
		parts = append(parts, fmt.Sprintf("line %d is invalid: %.200q", line.Number, line.Text))
	}
	if more := len(lines) - named; more > 0 {
		parts = append(parts, plain.Count(more, "more line"))
	}
	return "git reads no packed ref at all: " + strings.Join(parts, "; ")
}

// lostRefs notes the user's refs that were in invalid lines of packed-refs and are missing. It sets e.dropped to the
// lines that earlier repairs removed.
func (e *examination) lostRefs(ctx context.Context) (err error) {
	if e.dropped, err = e.aside.droppedLines(); err != nil {
		return err
	}
	var names []string
	// Another check notes the refs of runs. A cut line may have only a part of the name.
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
				What: "the line of the ref in packed-refs was invalid, and the ref is lost" + wasAt(e.git.repo.CommonDir, refs.Name(name), "") +
					"; if the ref is not needed, remove smithers/damaged/packed-refs",
			}, nil)
		}
	}
	return nil
}

// wasAt returns a clause with the last value in the reflog of the ref name, and with the command that restores the
// value. first is a text to put before the command, or "". wasAt returns "" if the ref has no reflog, or if the last
// value is no valid id.
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
	return fmt.Sprintf("; the reflog has the value %v: %srun `git update-ref %s %v`", id, first, fault.Word(string(name)), fault.Word(id.String()))
}
