package refs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/objstore"
)

const sortedHeader = "# pack-refs with: peeled fully-peeled sorted \n"

func openBytes(t testing.TB, content []byte, block int64) (*packedRefs, error) {
	t.Helper()
	p, err := newPacked(bytes.NewReader(content), int64(len(content)), "packed-refs", 40)
	if err == nil && block > 0 {
		p.blockSize, p.blocks = block, nil
	}
	return p, err
}

// all is what a packed-refs holds below a prefix, and the first error.
func all(p *packedRefs, prefix string) (found []Ref, err error) {
	for ref, err := range p.scan(prefix) {
		if err != nil {
			return nil, err
		}
		found = append(found, ref)
	}
	return found, nil
}

// FuzzPackedRefs holds halving, in blocks of any size, against reading line by line.
func FuzzPackedRefs(f *testing.F) {
	id := strings.Repeat("1", 40)
	for _, s := range []string{
		"", sortedHeader, sortedHeader + id + " refs/heads/a\n^" + id + "\n" + id + " refs/heads/b\n",
		"# pack-refs with: peeled \n" + id + " refs/b\n" + id + " refs/a\n", id + " refs/a\n", id + " refs/a", "garbage\n", "\n",
		"\x00" + id + " 0",
	} {
		f.Add([]byte(s), uint8(7), "refs/heads/")
	}
	f.Fuzz(func(t *testing.T, content []byte, block uint8, prefix string) {
		p, err := openBytes(t, content, int64(block))
		if err != nil {
			require.ErrorIs(t, err, ErrBroken)
			return
		}
		want, err := naive(content)
		found, scanErr := all(p, "")
		if err != nil || scanErr != nil {
			assert.Equal(t, err != nil, scanErr != nil, "%v, %v", err, scanErr)
			assert.ErrorIs(t, scanErr, ErrBroken)
			return
		}
		assert.Equal(t, want, found)
		if p.sorted && !slices.IsSortedFunc(want, func(a, b Ref) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
			return // the header lies
		}
		want = slices.DeleteFunc(want, func(r Ref) bool { return !strings.HasPrefix(string(r.Name), prefix) })
		found, err = all(p, prefix)
		require.NoError(t, err)
		assert.Len(t, found, len(want))
		if len(want) > 0 {
			assert.Equal(t, want, found)
		}
	})
}

// naive reads packed-refs in the plainest way.
func naive(content []byte) ([]Ref, error) {
	text := string(content)
	if strings.HasPrefix(text, packedHeader) {
		_, text, _ = strings.Cut(text, "\n")
	}
	var found []Ref
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if ended && len(line) == 41 && line[0] == '^' {
			continue
		}
		if !ended || len(line) < 42 || line[40] != ' ' || len(line) > maxPackedLine {
			return nil, errors.New("malformed")
		}
		id, err := objstore.ParseID(line[:40])
		if err != nil || id.IsZero() {
			return nil, errors.New("malformed id")
		}
		found = append(found, Ref{Name(line[41:]), id})
	}
	return found, nil
}

func TestPackedRefsFindsEveryRefAndNoOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`refs/[a-c]{1,3}(/[a-c0-9.]{1,30}){1,3}`), rapid.ID).Draw(t, "names")
		isSorted := rapid.Bool().Draw(t, "sorted")
		var b strings.Builder
		if isSorted {
			slices.Sort(names)
			b.WriteString(sortedHeader)
		}
		for i, name := range names {
			fmt.Fprintf(&b, "%040x %s\n", i+1, name)
			if rapid.Bool().Draw(t, "tag") {
				fmt.Fprintf(&b, "^%040x\n", i+1)
			}
		}
		p, err := newPacked(strings.NewReader(b.String()), int64(b.Len()), "packed-refs", 40)
		require.NoError(t, err)
		p.blockSize, p.blocks = rapid.Int64Range(1, 5000).Draw(t, "block"), nil
		for i, name := range names {
			id, err := p.lookup(Name(name))
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("%040x", i+1), id.String())
			missing := name + rapid.SampledFrom([]string{"0", "/", "!", "~"}).Draw(t, "more")
			if id, err = p.lookup(Name(missing)); !slices.Contains(names, missing) {
				require.NoError(t, err)
				assert.True(t, id.IsZero())
			}
		}
	})
}

// FuzzNote reads owner files: what parses says only names of ours.
func FuzzNote(f *testing.F) {
	f.Add(noteIdle)
	f.Add(noteLocked + strings.Repeat("1", 40) + " refs/smithers/_tip/run\n" + noteEnd + "rest")
	f.Add(noteLocked + "x ../../HEAD\n" + noteEnd)
	f.Fuzz(func(t *testing.T, file string) {
		var again strings.Builder
		again.WriteString(noteLocked)
		locks := parseNote(file)
		for _, l := range locks {
			_, _, err := l.name.Split()
			require.NoError(t, err)
			again.WriteString(l.content + " " + string(l.name) + "\n")
		}
		again.WriteString(noteEnd)
		if len(locks) > 0 {
			assert.True(t, strings.HasPrefix(file, again.String()))
		}
	})
}
