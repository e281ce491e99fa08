package refs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/git-smithers/git-smithers/objstore"
)

// parallelFrom is the number of ref files from which parallel reading is faster.
const parallelFrom = 32

// FrameRef is a frame number and the frame's entry.
type FrameRef struct {
	Frame int64
	ID    objstore.ID
}

// TipRef is a run's ref component (see EscapeRun) and the target of a ref with this component, usually the
// run's tip.
type TipRef struct {
	Component string
	ID        objstore.ID
}

// Frames returns the frame refs of one run, sorted by frame number. It omits other refs in the run's folder,
// and reads no ref of another run. If some refs are broken, it returns the others and an error that wraps
// ErrBroken.
func (db *DB) Frames(ctx context.Context, run string) ([]FrameRef, error) {
	component, err := EscapeRun(run)
	if err != nil {
		return nil, err
	}
	leaves, err := db.reader.list(ctx, prefix+component+"/", func(leaf string) bool {
		_, ok := parseFrame(leaf)
		return ok
	})
	frames := make([]FrameRef, len(leaves))
	for i, l := range leaves {
		number, _ := parseFrame(l.name)
		frames[i] = FrameRef{Frame: number, ID: l.id}
	}
	slices.SortFunc(frames, func(a, b FrameRef) int { return cmp.Compare(a.Frame, b.Frame) })
	return frames, err
}

// Tips returns the tips of all runs, sorted by ref name. It omits refs in the folder whose names are invalid.
// If some refs are broken, it returns the others and an error that wraps ErrBroken.
func (db *DB) Tips(ctx context.Context) ([]TipRef, error) { return db.tips(ctx, tipPrefix) }

// tips returns the refs directly in folder whose last component is the ref component of a run, sorted by name. If
// some refs are broken, it returns the others and an error that wraps ErrBroken.
func (db *DB) tips(ctx context.Context, folder string) ([]TipRef, error) {
	leaves, err := db.reader.list(ctx, folder, isComponent)
	tips := make([]TipRef, len(leaves))
	for i, l := range leaves {
		tips[i] = TipRef{Component: l.name, ID: l.id}
	}
	return tips, err
}

// isComponent reports whether EscapeRun returns s for some run id.
func isComponent(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			_, _, err := UnescapeRun(s)
			return err == nil
		}
	}
	return s != "" && len(s) <= maxComponent
}

// leaf is a ref directly inside a folder. name is the last component of the ref's name.
type leaf struct {
	name string
	id   objstore.ID
}

// list returns the refs directly in folder, sorted by name. It returns only the refs for whose last component wanted
// returns true. It omits broken refs, and also returns an error that joins their errors. After an error of another
// kind, it returns no refs.
func (r reader) list(ctx context.Context, folder string, wanted func(string) bool) ([]leaf, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.tables != nil {
		return r.tabledLeaves(ctx, folder, wanted)
	}
	leaves, broken := r.looseLeaves(folder, wanted)
	if broken != nil && !errors.Is(broken, ErrBroken) {
		return nil, broken
	}
	packed, err := r.openPacked()
	if err != nil {
		return nil, err
	}
	for ref, scanErr := range packed.scan(folder) {
		if scanErr != nil {
			err = scanErr
			break
		}
		if name := string(ref.Name[len(folder):]); wanted(name) {
			leaves = append(leaves, leaf{name, ref.ID})
		}
	}
	if err = errors.Join(err, packed.close()); err != nil {
		return nil, err
	}
	// The loose ref comes first and hides the packed ref, even if the loose ref is broken.
	slices.SortStableFunc(leaves, func(a, b leaf) int { return cmp.Compare(a.name, b.name) })
	leaves = slices.CompactFunc(leaves, func(a, b leaf) bool { return a.name == b.name })
	leaves = slices.DeleteFunc(leaves, func(l leaf) bool { return l.id.IsZero() })
	return leaves, broken
}

// looseLeaves reads the files of the refs directly in folder. It reads only the files for whose names wanted returns
// true. A broken ref has a zero id in the result. The error joins the errors of all refs that cannot be read.
func (r reader) looseLeaves(folder string, wanted func(string) bool) ([]leaf, error) {
	names, err := readNames(filepath.Join(r.dir, filepath.FromSlash(folder)))
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !wanted(name) })
	leaves, errs := make([]leaf, len(names)), make([]error, len(names))
	read := func(i int) {
		leaves[i].id, errs[i] = r.loose(Name(folder + names[i]))
		if !leaves[i].id.IsZero() || errs[i] != nil {
			leaves[i].name = names[i] // otherwise the ref was just packed or deleted
		}
	}
	workers := 1
	if len(names) >= parallelFrom {
		workers = runtime.GOMAXPROCS(0)
	}
	var reading sync.WaitGroup
	for w := range workers {
		reading.Go(func() {
			for i := w; i < len(names); i += workers {
				read(i)
			}
		})
	}
	reading.Wait()
	leaves = slices.DeleteFunc(leaves, func(l leaf) bool { return l.name == "" })
	return leaves, errors.Join(errs...)
}

// readNames returns the names of the files in a folder, in no particular order. A missing folder has no
// files.
func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		if isNoFile(err) {
			return nil, nil
		}
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if errors.Is(err, io.EOF) || isNoFile(err) {
		err = nil
	}
	return names, errors.Join(err, f.Close())
}
