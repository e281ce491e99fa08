package agent

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

func TestACutEndsWithTheResultsOfItsFrame(t *testing.T) {
	t.Parallel()
	begin := func(ids ...string) dialect.Line {
		l := dialect.Line{Facts: dialect.Facts{Answers: true}}
		for _, id := range ids {
			l.Begun = append(l.Begun, dialect.Call{ID: id, Tool: "Bash"})
		}
		return l
	}
	end := func(id string) dialect.Line {
		return dialect.Line{Facts: dialect.Facts{Answers: true, Ended: []dialect.Result{{ID: id}}}}
	}
	said, header := dialect.Line{}, dialect.Line{Facts: dialect.Facts{Header: true}}
	both := func(ids ...string) dialect.Line { // the hooks name such calls by aliases
		l := begin(ids...)
		for i, id := range ids {
			l.Begun[i].Alias = "alias-of-" + id[:1]
			l.Ended = append(l.Ended, dialect.Result{ID: id})
		}
		return l
	}
	told := dialect.Line{Facts: dialect.Facts{Answers: true}}
	for _, c := range []struct {
		what   string
		lines  []dialect.Line
		before int
		ids    string
		kept   int
	}{
		{"a batch", []dialect.Line{said, begin("a"), end("a"), begin("b"), end("b")}, 3, "a", 3},
		{"a late result", []dialect.Line{said, begin("a"), end("a"), begin("b"), end("b")}, 2, "a", 3},
		{"parallel calls", []dialect.Line{said, begin("a"), begin("b"), end("a"), end("b"), told}, 3, "a b", 5},
		{"a result that never comes", []dialect.Line{said, begin("a"), end("a"), begin("b"), end("c")}, 4, "b", 3},
		{"half of a parallel batch", []dialect.Line{said, begin("a"), begin("b"), end("a")}, 4, "a b", 1},
		{"a prompt", []dialect.Line{said, told, said}, 3, "turn:2", 2},
		{"a prompt that is not there yet", []dialect.Line{said, told}, 2, "turn:2", 2},
		{"the first prompt", []dialect.Line{said}, 1, "turn:1", 0},
		{"a first prompt after a header", []dialect.Line{header, said, told}, 2, "turn:1", 1},
		{"a first prompt before the file", []dialect.Line{header, header, said, told}, 0, "turn:1", 2},
		{"a prompt after another header", []dialect.Line{header, said, told, header, said}, 5, "turn:2", 4},
		{"a call with an alias", []dialect.Line{said, both("a1"), told, both("b1"), told}, 3, "alias-of-b", 4},
		{"a call that comes again", []dialect.Line{said, both("a1"), told, both("a2"), both("b1"), both("a3")}, 3, "alias-of-a", 4},
		{"parallel calls with aliases", []dialect.Line{said, both("a1", "b1"), told}, 1, "alias-of-b", 2},
		{"a call with an alias that never comes", []dialect.Line{said, both("a1"), both("b1")}, 2, "alias-of-c", 2},
		{"the end of a turn", []dialect.Line{said, told}, 2, "", 2},
	} {
		assert.Len(t, cut(c.lines, c.before, strings.Fields(c.ids)), c.kept, c.what)
	}
}

func TestFoldersAreThoseOfTheLines(t *testing.T) {
	t.Parallel()
	in := func(folders ...string) (lines []dialect.Line) {
		for _, folder := range folders {
			lines = append(lines, dialect.Line{Facts: dialect.Facts{Folder: folder}})
		}
		return lines
	}
	assert.Equal(t, []string{"/repo"}, foldersOf(nil, "/repo"))
	assert.Equal(t, []string{"/repo", "/other", "/repository"}, foldersOf(in("", "/repo/src", "/other", "/repo", "/repository", "/other"), "/repo"))
	assert.Equal(t, []string{"/repo/src"}, foldersOf(in("/repo/src"), ""))
	entered := in("/repo", "/repo/wt/x", "/repo/wt/x/src", "/repo/src")
	entered[1].Worktree = true
	assert.Equal(t, []string{"/repo", "/repo/wt/x"}, foldersOf(entered, "/repo"))
}

func TestAMemoryThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		`{`: "unexpected end",
		`{"version":2,"sessions":["a"],"transcripts":["a"]}`: "a newer git-smithers keeps this session",
		`{"version":1}`: "names no session",
		`{"version":1,"sessions":[""],"transcripts":["a"]}`:            "is not the id of a session",
		`{"version":1,"sessions":["../../x"],"transcripts":["a"]}`:     "is not the id of a session",
		`{"version":1,"sessions":["a","b c"],"transcripts":["a","b"]}`: "is not the id of a session",
	} {
		_, err := parseMemory([]byte(text))
		assert.ErrorContains(t, err, message, text)
	}
	m := newMemory(dialect.Claude, "a")
	m.enter("b", 7)
	ext, err := m.draft()
	require.NoError(t, err)
	got, err := parseMemory(ext.Files[memoryName])
	require.NoError(t, err)
	assert.Equal(t, m, got)
}

// Each call that is cut off takes the result of the call before with it.
func TestACutOfManyOpenCallsIsFast(t *testing.T) {
	t.Parallel()
	const calls = 200_000
	lines := []dialect.Line{{}}
	for i := range calls {
		lines = append(lines, dialect.Line{Facts: dialect.Facts{Begun: []dialect.Call{{ID: strconv.Itoa(i)}}}})
		if i > 0 {
			lines = append(lines, dialect.Line{Facts: dialect.Facts{Ended: []dialect.Result{{ID: strconv.Itoa(i - 1)}}}})
		}
	}
	assert.Len(t, complete(lines, indexes(len(lines))), 1)
}

func TestAConversationHasABoundedNumberOfFolders(t *testing.T) {
	t.Parallel()
	var lines []dialect.Line
	for i := range 10 * mostFolders {
		lines = append(lines, dialect.Line{Facts: dialect.Facts{Folder: "/work/" + strconv.Itoa(i)}})
	}
	assert.Len(t, foldersOf(lines, ""), mostFolders)
}
