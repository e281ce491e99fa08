package keep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
		parts = append(parts, counted(more, "more line"))
	}
	return "git reads no packed ref at all: " + strings.Join(parts, "; ")
}

// mendPacked rewrites packed-refs without its invalid lines, under git's own lock.
func (k *Keeper) mendPacked(context.Context) (err error) {
	path := k.inCommonDir(packedRefs)
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s.lock", refs.ErrLocked, packedRefs)
	}
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed {
			err = errors.Join(err, lock.Close(), os.Remove(lock.Name()))
		}
	}()
	if err := k.keepCopy(packedRefs); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sound, _ := refs.SoundPacked(data)
	if _, err := lock.Write(sound); err != nil {
		return err
	}
	if err := errors.Join(lock.Sync(), lock.Close()); err != nil {
		return err
	}
	renamed = true
	return os.Rename(lock.Name(), path)
}

// droppedLines returns the invalid lines of the saved packed-refs of an earlier repair.
func (k *Keeper) droppedLines() ([]refs.PackedLine, error) {
	kept, err := filepath.Glob(globQuoted(k.aside(packedRefs)) + "*")
	if err != nil {
		return nil, err
	}
	var dropped []refs.PackedLine
	for _, path := range kept {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		_, broken := refs.SoundPacked(data)
		dropped = append(dropped, broken...)
	}
	return dropped, nil
}

// lostRefs finds the user's own refs that were lost with invalid lines of packed-refs.
func (e *examination) lostRefs(ctx context.Context) (err error) {
	if e.dropped, err = e.droppedLines(); err != nil {
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
	there, err := e.git(ctx, append([]string{"for-each-ref", "--format=%(refname)", "--"}, names...)...)
	if err != nil {
		return err
	}
	for _, name := range slices.Compact(names) {
		if !slices.Contains(strings.Fields(there), name) {
			e.note(Finding{
				Kind: LostRef, Where: name,
				What: "its line in packed-refs was invalid, and the ref is lost" + e.wasAt(refs.Name(name), "") +
					"; if it is not wanted, remove smithers/damaged/packed-refs",
			}, nil)
		}
	}
	return nil
}

// wasAt returns the ref's value by its reflog, and the command that restores the ref; "" if there is no
// reflog.
func (k *Keeper) wasAt(name refs.Name, first string) string {
	data, err := os.ReadFile(k.inCommonDir("logs/" + string(name)))
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
