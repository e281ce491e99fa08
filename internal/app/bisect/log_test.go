package bisect_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/bisect"
)

func TestALogGoesOnAfterALineThatWasWrittenInPart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bisect", "a.log")
	asked := bisect.Line{RunID: "r", Command: []string{"make", "test"}, Repeat: 1}
	line := bisect.Line{Kind: "verdict", Frame: "r:1", Commit: "c1", Verdict: bisect.Good, Statuses: []int{0}, AtMs: 7}
	log, had, err := bisect.Open(path, asked, false)
	require.NoError(t, err)
	assert.Empty(t, had)
	require.NoError(t, log.Add(line))
	_, _, err = bisect.Open(path, asked, false)
	require.ErrorIs(t, err, bisect.ErrBusy)
	require.NoError(t, log.Close())
	beside := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(beside, nil, 0o666))
	info, err := os.Stat(path)
	require.NoError(t, err)
	want, err := os.Stat(beside)
	require.NoError(t, err)
	assert.Equal(t, want.Mode(), info.Mode(), "the umask decides: in a repository that is shared, others go on")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"frame":"r:2","comm`)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	log, had, err = bisect.Open(path, asked, false)
	require.NoError(t, err)
	assert.Equal(t, []bisect.Line{line}, had)
	require.NoError(t, log.Add(bisect.Line{Commit: "c2", Verdict: bisect.Bad}))
	require.NoError(t, log.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Regexp(t, `^{"kind":"bisect-log","runId":"r","command":\["make","test"\],"repeat":1,`, string(data))
	lines, err := bisect.Parse(data)
	require.NoError(t, err)
	assert.Len(t, lines, 2)

	log, had, err = bisect.Open(path, asked, true)
	require.NoError(t, err)
	assert.Empty(t, had, "begun anew")
	require.NoError(t, log.Close())
}

func TestWhatIsNoLogIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	const asked = `{"kind":"bisect-log","runId":"r","repeat":1}` + "\n"
	for text, want := range map[string]string{
		"x\n": "line 1 is not", `{"kind":"bisect"}` + "\n": "line 1 is not", asked + "x\n": "line 2 is not", asked + asked: "line 2 is not",
		asked + `{"kind":"verdict","commit":"c"}` + "\n": "line 2 is not", asked + `{"kind":"verdict","verdict":"bad"}` + "\n": "line 2 is not",
	} {
		_, err := bisect.Parse([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}
