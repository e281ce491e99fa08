package refs

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// FrameCounts returns the number of frame refs of each run, by ref component (see EscapeRun). A run without
// frame refs is missing from the map. FrameCounts counts names and reads no ref, so it also counts broken
// refs.
func (db *DB) FrameCounts(ctx context.Context) (map[string]int, error) {
	if db.reader.tables != nil {
		counts := make(map[string]int)
		return counts, db.reader.each(ctx, prefix, func(ref Ref, _ error) { countFrame(counts, ref, nil) })
	}
	root := filepath.Join(db.reader.dir, filepath.FromSlash(prefix))
	components, err := readNames(root)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	loose := make(map[string]map[string]bool) // the loose frame refs, by ref component and frame number
	for _, component := range components {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		names, err := readNames(filepath.Join(root, component))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, ok := parseFrame(name); !ok || !isComponent(component) {
				continue
			}
			if loose[component] == nil {
				loose[component] = make(map[string]bool, len(names))
			}
			loose[component][name] = true
			counts[component]++
		}
	}
	return counts, db.countPacked(counts, loose)
}

// countPacked adds the packed frame refs of each run to counts, by ref component. loose has the frame refs that are
// already counted, by ref component and frame number: countPacked skips them.
func (db *DB) countPacked(counts map[string]int, loose map[string]map[string]bool) error {
	packed, err := db.reader.openPacked()
	if err != nil {
		return err
	}
	for ref, scanErr := range packed.scan(prefix) {
		if scanErr != nil {
			err = scanErr
			break
		}
		countFrame(counts, ref, loose)
	}
	return errors.Join(err, packed.close())
}

// countFrame adds a ref to counts if it is a frame ref that is not in loose.
func countFrame(counts map[string]int, ref Ref, loose map[string]map[string]bool) {
	component, name, _ := strings.Cut(string(ref.Name[len(prefix):]), "/")
	if _, ok := parseFrame(name); ok && isComponent(component) && !loose[component][name] {
		counts[component]++
	}
}
