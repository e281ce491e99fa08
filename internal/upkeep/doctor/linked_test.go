package doctor_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// overwriteLinked writes into the file of a ref, which must be the other ref's file, too.
func (c *clinic) overwriteLinked(name, other, content string) {
	c.t.Helper()
	repotest.NeedsFiles(c.t)
	path := filepath.Join(c.GitDir, filepath.FromSlash(name))
	first, err := os.Lstat(path)
	require.NoError(c.t, err)
	second, err := os.Lstat(filepath.Join(c.GitDir, filepath.FromSlash(other)))
	require.NoError(c.t, err)
	require.True(c.t, os.SameFile(first, second))
	require.NoError(c.t, os.WriteFile(path, []byte(content), 0o666))
}

func TestATipAndAFrameThatAreOneFileComeBackTogether(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "garbage": "garbage\n", "cut off": "0123456789"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			before := c.refsNow()
			c.overwriteLinked("refs/smithers/_tip/one", "refs/smithers/one/5", content)
			assert.ElementsMatch(t, []string{"broken-ref refs/smithers/_tip/one", "broken-ref refs/smithers/one/5"}, c.mend())
			assert.Equal(t, before, c.refsNow())
		})
	}
}

func TestATipAndAFrameThatAreOneFileComeBackWithoutAnyOtherRef(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	before := c.Git("rev-parse", "refs/smithers/_tip/two")
	for _, frame := range []string{"0", "1", "2", "3", "4"} {
		c.Git("update-ref", "-d", "refs/smithers/two/"+frame)
	}
	c.overwriteLinked("refs/smithers/two/5", "refs/smithers/_tip/two", "")
	assert.ElementsMatch(t, []string{"broken-ref refs/smithers/_tip/two", "broken-ref refs/smithers/two/5"}, c.mend())
	for _, ref := range []string{"refs/smithers/_tip/two", "refs/smithers/two/5"} {
		assert.Equal(t, before, c.Git("rev-parse", ref))
	}
}

// git likes an older commit in both names. The number of the frame shows that the tip was further on.
func TestATipAndAFrameThatAreOneFileWithAnOldValueComeBackTogether(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	before := c.refsNow()
	older := c.Git("rev-parse", "refs/smithers/two/3")
	c.overwriteLinked("refs/smithers/_tip/two", "refs/smithers/two/5", older+"\n")
	assert.ElementsMatch(t, []string{"tip-behind-frames refs/smithers/_tip/two", "wrong-frame-ref refs/smithers/two/5"}, c.mend())
	assert.Equal(t, before, c.refsNow())
}

func TestAFrameRefAfterTheTipThatNoEntryExplainsIsRemoved(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	before := c.refsNow()
	c.Git("update-ref", "refs/smithers/two/6", "refs/smithers/_tip/two")
	assert.Equal(t, []string{"wrong-frame-ref refs/smithers/two/6"}, c.mend())
	assert.Equal(t, before, c.refsNow())
}

// A killed process has left an entry on the frame before, which is newer by its clock.
func TestAnEntryThatWasNeverAcknowledgedIsNotTheTip(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	appendTo := func(s *timeline.Store) {
		head, err := s.Head(t.Context(), "two")
		require.NoError(t, err)
		require.NoError(t, head.Append(t.Context(), draft("two", 6)))
	}
	c.killedIn("before-refs", func() time.Time { return time.Now().Add(time.Hour) }, appendTo)
	require.Empty(t, c.Git("for-each-ref", "refs/smithers/two/6"))
	s := c.open()
	appendTo(s)
	require.NoError(t, s.Close())
	before := c.refsNow()

	c.overwriteLinked("refs/smithers/_tip/two", "refs/smithers/two/6", "")
	assert.ElementsMatch(t, []string{"broken-ref refs/smithers/_tip/two", "broken-ref refs/smithers/two/6"}, c.mend())
	assert.Equal(t, before, c.refsNow())
}
