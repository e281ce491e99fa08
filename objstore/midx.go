package objstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// errMidx is wrapped by every error about a malformed multi-pack-index.
var errMidx = errors.New("malformed multi-pack-index")

const (
	midxFile   = "multi-pack-index"
	midxLayers = "multi-pack-index.d"     // folder of a multi-pack-index that is a chain of files
	midxChain  = "multi-pack-index-chain" // file in midxLayers that lists the chain
)

// midxPacks returns the names, without suffix, of the packs in the multi-pack-index of packDir. The
// multi-pack-index may be a chain of files. The result is empty if there is no multi-pack-index. The error
// wraps errMidx if a file is malformed.
//
// While a multi-pack-index exists, its packs must not be removed: git looks for an object only in the pack that
// the multi-pack-index lists for the object.
func midxPacks(packDir string) (map[string]bool, error) {
	paths := []string{filepath.Join(packDir, midxFile)}
	layers := filepath.Join(packDir, midxLayers)
	files, err := os.ReadDir(layers)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".midx") {
			paths = append(paths, filepath.Join(layers, file.Name()))
		}
	}
	named := make(map[string]bool)
	for _, path := range paths {
		names, err := readMidxNames(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			named[name] = true
		}
	}
	return named, nil
}

// readMidxNames returns the pack names in the multi-pack-index file at path. The error wraps
// fs.ErrNotExist if the file is missing, and errMidx if the file is malformed.
func readMidxNames(path string) (_ []string, err error) {
	f, err := fsx.OpenShared(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	names, err := parseMidxNames(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return names, nil
}

// parseMidxNames returns the pack names in a multi-pack-index. r reads the file, and size is its size in bytes.
// parseMidxNames reads only the head, the table of chunks and the names. If the multi-pack-index is malformed,
// the error wraps errMidx.
func parseMidxNames(r io.ReaderAt, size int64) ([]string, error) {
	const headSize, rowSize = 12, 12
	head := make([]byte, headSize)
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", errMidx, err)
	}
	if string(head[:4]) != "MIDX" || head[4] != 1 {
		return nil, errMidx
	}
	// Byte 6 of the head is the number of chunks. Bytes 8 to 11 are the number of packs.
	chunks := int(head[6])
	packs := int(binary.BigEndian.Uint32(head[8:]))
	table := make([]byte, (chunks+1)*rowSize) // the additional last row holds the end of the last chunk
	if _, err := r.ReadAt(table, headSize); err != nil {
		return nil, fmt.Errorf("%w: %w", errMidx, err)
	}
	for i := range chunks {
		// A row has the name of a chunk and its offset. The chunk PNAM has the names of the packs.
		if string(table[i*rowSize:][:4]) != "PNAM" {
			continue
		}
		start := binary.BigEndian.Uint64(table[i*rowSize+4:])
		end := binary.BigEndian.Uint64(table[(i+1)*rowSize+4:])
		if start > end || end > uint64(size) {
			return nil, errMidx
		}
		text := make([]byte, end-start)
		if _, err := r.ReadAt(text, int64(start)); err != nil {
			return nil, fmt.Errorf("%w: %w", errMidx, err)
		}
		return cutMidxNames(text, packs)
	}
	return nil, errMidx
}

// cutMidxNames returns the first count pack names in text, without ".idx". Each name in text ends with ".idx"
// and a NUL. If text has another form, the error is errMidx.
func cutMidxNames(text []byte, count int) ([]string, error) {
	var names []string
	for range count {
		name, rest, ok := bytes.Cut(text, []byte{0})
		if !ok {
			return nil, errMidx
		}
		pack, ok := strings.CutSuffix(string(name), ".idx")
		if !ok {
			return nil, errMidx
		}
		names = append(names, pack)
		text = rest
	}
	return names, nil
}
