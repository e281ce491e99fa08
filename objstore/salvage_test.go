package objstore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// packed is a repository with one pack of blobs, each a delta of the one before where
// git makes it so, and what they hold.
type packed struct {
	*repo

	name  string
	blobs map[objstore.ID][]byte
}

func newPacked(t *testing.T) packed {
	t.Helper()
	p := packed{repo: newRepo(t), blobs: make(map[objstore.ID][]byte)}
	r := rand.New(rand.NewPCG(1, 2))
	var ids strings.Builder
	text := bytes.Repeat([]byte("a line of text that is long enough\n"), 40)
	for i := range 60 {
		text = append(bytes.Clone(text), fmt.Sprintf("and line %d: %d\n", i, r.Uint64())...)
		out, err := p.run(string(text), "hash-object", "-w", "--stdin")
		require.NoError(t, err)
		id, err := objstore.ParseID(strings.TrimSpace(out))
		require.NoError(t, err)
		p.blobs[id] = text
		ids.WriteString(out)
	}
	out, err := p.run(ids.String(), "pack-objects", "-q", filepath.Join("objects", "pack", "pack"))
	require.NoError(t, err, out)
	p.git("prune-packed")
	packs := p.packs(".pack")
	require.Len(t, packs, 1)
	p.name = strings.TrimSuffix(packs[0], ".pack")
	return p
}

// damage changes a file of the pack.
func (p packed) damage(suffix string, change func([]byte) []byte) {
	p.t.Helper()
	path := p.packPath(p.name + suffix)
	data, err := os.ReadFile(path)
	require.NoError(p.t, err)
	require.NoError(p.t, os.Chmod(path, 0o644))
	require.NoError(p.t, os.WriteFile(path, change(data), 0o644))
}

// readable is the blobs that the store gives.
func (p packed) readable(s *objstore.Store) map[objstore.ID]bool {
	p.t.Helper()
	out := make(map[objstore.ID]bool)
	for id, want := range p.blobs {
		if _, got, err := s.Get(id); err == nil {
			require.Equal(p.t, want, got)
			out[id] = true
		}
	}
	return out
}

func TestEverythingThatADamagedPackStillGivesIsSaved(t *testing.T) {
	t.Parallel()
	flip := func(at func(size int) int) func([]byte) []byte {
		return func(b []byte) []byte { b[at(len(b))] ^= 0x40; return b }
	}
	for _, c := range []struct {
		name, suffix string
		change       func([]byte) []byte
		reason       string
		lost         bool // some objects
		indexed      bool
	}{
		{"a flipped bit", ".pack", flip(func(size int) int { return size / 2 }), "wrong checksum", true, false},
		{"a flipped bit in the checksum", ".pack", flip(func(size int) int { return size - 3 }), "wrong checksum", false, false},
		{"a pack cut off", ".pack", func(b []byte) []byte { return b[:len(b)*2/3] }, "truncated", true, false},
		{"an empty pack", ".pack", func(b []byte) []byte { return b[:0] }, "truncated", true, false},
		{"an index cut off", ".idx", func(b []byte) []byte { return b[:len(b)-50] }, "malformed index", false, true},
		{"an empty index", ".idx", func(b []byte) []byte { return b[:0] }, "malformed index", false, true},
		{"a flipped bit in the index", ".idx", flip(func(int) int { return 8 + 1024 + 30 }), "malformed index", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPacked(t)
			p.damage(c.suffix, c.change)
			s := p.open()

			damage, err := s.CheckFiles(t.Context(), nil, nil)
			require.NoError(t, err)
			require.Len(t, damage, 1, "%+v", damage)
			assert.Equal(t, "pack/"+p.name+c.suffix, damage[0].File)
			assert.Contains(t, damage[0].Reason, c.reason)
			assert.Equal(t, c.lost, len(damage[0].Objects) > 0)

			before := p.readable(p.open())
			aside := filepath.Join(p.dir, "smithers", "damaged")
			saved, err := s.Salvage(t.Context(), p.name, aside)
			require.NoError(t, err)
			assert.Equal(t, c.indexed, saved.Indexed)
			assert.Equal(t, damage[0].Objects, saved.Lost)
			assert.Equal(t, len(p.blobs)-len(saved.Lost), saved.Objects)
			assert.FileExists(t, filepath.Join(aside, p.name+c.suffix), "what was damaged is kept")

			for _, reader := range []*objstore.Store{s, p.open()} {
				after := p.readable(reader)
				assert.Len(t, after, saved.Objects)
				for id := range before {
					assert.True(t, after[id], "%v could be read before", id)
				}
			}
			damage, err = p.open().CheckFiles(t.Context(), nil, nil)
			require.NoError(t, err)
			assert.Empty(t, damage)
			p.fsck()
		})
	}
}

// A pack of more than 1 MiB has the user's history. Only the copies of objects that somebody needs are read in it.
func TestOfALargePackOnlyNeededObjectsAreChecked(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var ids []objstore.ID
	for seed := range uint64(40) {
		noise := make([]byte, 64<<10)
		_, err := rand.NewChaCha8([32]byte{byte(seed)}).Read(noise)
		require.NoError(t, err)
		out, err := r.run(string(noise), "hash-object", "-w", "--stdin")
		require.NoError(t, err)
		id, err := objstore.ParseID(strings.TrimSpace(out))
		require.NoError(t, err)
		ids = append(ids, id)
	}
	var list strings.Builder
	for _, id := range ids {
		list.WriteString(id.String() + "\n")
	}
	out, err := r.run(list.String(), "pack-objects", "--quiet", filepath.Join(r.dir, "objects", "pack", "pack"))
	require.NoError(t, err)
	r.git("prune-packed", "--quiet")
	name := "pack-" + strings.TrimSpace(out)
	data, err := os.ReadFile(r.packPath(name + ".pack"))
	require.NoError(t, err)
	data[len(data)/2] ^= 0x40
	require.NoError(t, os.Chmod(r.packPath(name+".pack"), 0o644))
	require.NoError(t, os.WriteFile(r.packPath(name+".pack"), data, 0o644))

	var lost objstore.ID
	for _, id := range ids {
		if _, _, err := r.open().Get(id); err != nil {
			lost = id
		}
	}
	require.False(t, lost.IsZero())
	needed := make(map[objstore.ID]bool)
	for _, id := range ids {
		if id != lost {
			needed[id] = true
		}
	}
	damage, err := r.open().CheckFiles(t.Context(), needed, nil)
	require.NoError(t, err)
	assert.Empty(t, damage, "nobody needs the damaged object")

	needed[lost] = true
	damage, err = r.open().CheckFiles(t.Context(), needed, nil)
	require.NoError(t, err)
	require.Len(t, damage, 1)
	assert.Equal(t, []objstore.ID{lost}, damage[0].Objects)
	assert.Equal(t, "wrong checksum", damage[0].Reason)
}

func TestAPackWithoutItsIndexGetsANewOne(t *testing.T) {
	t.Parallel()
	p := newPacked(t)
	require.NoError(t, os.Remove(p.packPath(p.name+".idx")))
	s := p.open()
	saved, err := s.Salvage(t.Context(), p.name, filepath.Join(p.dir, "aside"))
	require.NoError(t, err)
	assert.Equal(t, objstore.SalvageResult{Objects: len(p.blobs), Indexed: true}, saved)
	assert.Len(t, p.readable(s), len(p.blobs))
	p.fsck()
}

func TestWhereIndexAndPackAreDamagedTheObjectsBeforeTheDamageAreSaved(t *testing.T) {
	t.Parallel()
	p := newPacked(t)
	p.damage(".idx", func(b []byte) []byte { return b[:9] })
	p.damage(".pack", func(b []byte) []byte { return b[:len(b)/2] })
	s := p.open()
	saved, err := s.Salvage(t.Context(), p.name, filepath.Join(p.dir, "aside"))
	require.NoError(t, err)
	assert.Positive(t, saved.Objects)
	assert.Len(t, p.readable(s), saved.Objects)
	p.fsck()
}

func TestASoundPackIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	p := newPacked(t)
	s := p.open()
	saved, err := s.Salvage(t.Context(), p.name, filepath.Join(p.dir, "aside"))
	require.NoError(t, err)
	assert.Equal(t, objstore.SalvageResult{Objects: len(p.blobs)}, saved)
	assert.Equal(t, []string{p.name + ".pack"}, p.packs(".pack"))
	assert.NoDirExists(t, filepath.Join(p.dir, "aside"))
}

func TestADamagedLooseObjectIsFoundAndSetAside(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	out, err := r.run("some text", "hash-object", "-w", "--stdin")
	require.NoError(t, err)
	id, err := objstore.ParseID(strings.TrimSpace(out))
	require.NoError(t, err)
	file := filepath.Join(r.dir, "objects", id.String()[:2], id.String()[2:])
	require.NoError(t, os.Chmod(file, 0o644))
	require.NoError(t, os.WriteFile(file, []byte("garbage"), 0o644))
	s := r.open()
	damage, err := s.CheckFiles(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Len(t, damage, 1)
	assert.Equal(t, []objstore.ID{id}, damage[0].Objects)
	require.NoError(t, s.SetAside(id, filepath.Join(r.dir, "aside")))
	assert.NoFileExists(t, file)
	assert.FileExists(t, filepath.Join(r.dir, "aside", id.String()[2:]))
	r.fsck()
}
