package timeline_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAnAddressFindsItsFrame(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "triage-1")
	triage(t, s, "deploy")
	triage(t, s, "odd:7")
	triage(t, s, "Ünï/code:x")
	for _, c := range []struct {
		name, address string
		want          timeline.Address
	}{
		{"run and frame", "triage-1:2", timeline.Address{Run: "triage-1", Frame: 2}},
		{"a bare run is its newest frame", "triage-1", timeline.Address{Run: "triage-1", Frame: 4}},
		{"a unique prefix of a run", "tri", timeline.Address{Run: "triage-1", Frame: 4}},
		{"a unique prefix and a frame", "dep:0", timeline.Address{Run: "deploy", Frame: 0}},
		{"a run id that looks like an address", "odd:7", timeline.Address{Run: "odd:7", Frame: 4}},
		{"its frames are found at the last colon", "odd:7:1", timeline.Address{Run: "odd:7", Frame: 1}},
		{"any text is a run id", "Ünï/code:x:3", timeline.Address{Run: "Ünï/code:x", Frame: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			loaded, err := s.Load(t.Context(), c.address)
			require.NoError(t, err)
			assert.Equal(t, c.want, loaded.Address)
			assert.Equal(t, c.want.Frame, loaded.Entry.Frame)
		})
	}
}

// Whoever can push a run could otherwise say which files a known address lands or restores.
func TestARunNeverTakesTheAddressOfAnotherRunsFrame(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	withIDs(t, triage(t, s, "a"), 4, "call_1")
	for _, id := range []string{"a:2", "a:9", "a@call_1", "a@other", "a:turn:1", "ab:2"} {
		triage(t, s, id)
	}
	triage(t, s, "abcd")
	for address, want := range map[string]string{
		"a:2":      "a:2",
		"a:9":      "frame_not_found",
		"a@call_1": "a:5",
		"a@other":  "a@other:4", // nobody else can be meant
		"a:2:3":    "a:2:3",     // the frames of such a run are there
		"a:turn:1": "a:turn:1:4",
		"abc:2":    "abcd:2",
		"ab:2":     "ab:2:4", // a whole id comes before a prefix
	} {
		assert.Equal(t, want, found(t, s, address), address)
	}
	for _, to := range []timeline.Purpose{timeline.ToRead, timeline.ToChange} {
		at, err := s.LoadFor(t.Context(), "a:2", to)
		require.NoError(t, err)
		assert.Equal(t, timeline.Address{Run: "a", Frame: 2}, at.Address)
	}
	run, err := s.ResolveRunToChange(t.Context(), "a:2")
	require.NoError(t, err, "a command about runs takes the run")
	assert.Equal(t, "a:2", run)
	over, err := timeline.FindSteppedOver(t.Context(), s, timeline.Address{Run: "a:2", Frame: 1})
	require.NoError(t, err)
	assert.Nil(t, over)
}

func TestNoNewRunHasAnIDThatCommandsReadAsSomethingElse(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "parent")
	before := repo.Git("for-each-ref")
	misread := []string{"a:2", "a:0", ":2", "a:b:2", "a:smithers/7", "a@id", "a@b:c", "@", "@call_1", "-x", "-", "- x"}
	for _, id := range misread {
		_, err := s.Create(t.Context(), snapshot.Run{ID: id, Status: snapshot.RunRunning}, snapshot.Draft{})
		assert.Equal(t, fault.InvalidRunID, fault.CodeOf(err), id)
		_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "parent", RunID: id})
		assert.Equal(t, fault.InvalidRunID, fault.CodeOf(err), id)
	}
	assert.Equal(t, before, repo.Git("for-each-ref"))
	for _, id := range append(misread,
		"fix:2\u200b", "fix\u200b", "\ufefffix", "fix:2 ", " fix", "fix\t", "fix\u00a0", "f\u00adix", "fi\u202ex", "fix\x00", "fix\u2028", "fi\u00a0x", "fix\u3164", "fix\u2800",
		"fix\u034f", "fix\ufe0f", "fix:2\u0301", "fi\u0331x", "\u0301fix", "\u200b", " ",
	) {
		assert.True(t, timeline.Mistakable(id), "%q", id)
		other := timeline.Unmistakable(id, objstore.ID{})
		assert.False(t, timeline.Mistakable(other), "%q", other)
		assert.Equal(t, strconv.Quote(other), strconv.QuoteToASCII(other), "a name that nobody can mistake")
		assert.Regexp(t, "0{8}$", other)
	}
	for _, id := range []string{"a", "a:b", "a:", "a:02", "a-2", "a.2", "x:turn:y", "Ünï/code:x", "fix 2", "กิ", "हिन्दी", "実行"} {
		assert.False(t, timeline.Mistakable(id), id)
	}
}

func TestABadAddressSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "triage-1")
	triage(t, s, "triage-2")
	const form = "write a run as triage-1, a frame as triage-1:7, a frame by its id as triage-1@call_2, or a frame by Smithers' number as triage-1:smithers/7"
	for _, c := range []struct {
		name, address string
		code          fault.Code
		message, hint string
	}{
		{"unknown run", "nope", fault.RunNotFound, `no run is called "nope"`, "`git smithers runs` lists the runs"},
		{"unknown run with a frame", "nope:3", fault.RunNotFound, `no run is called "nope"`, "`git smithers runs` lists the runs"},
		{"a session's short name", "@", fault.InvalidAddress, `"@" is not an address: the run before the @ is missing`, form},
		{"an id after a colon", "triage-1:turn:3", fault.RunNotFound, `no run is called "triage-1:turn"`, ""},
		{"ambiguous prefix", "tri", fault.RunAmbiguous, `the ids of 2 runs begin with "tri"`, "type more of the id: triage-1, triage-2"},
		{"past the end", "triage-1:5", fault.FrameNotFound, `run "triage-1" has no frame 5`, "the run has frames 0 to 4"},
		{"not a number", "triage-1:x", fault.InvalidAddress, `"triage-1:x" is not an address: "x" is not the number of a frame`, form},
		{"negative", "triage-1:-1", fault.InvalidAddress, `"triage-1:-1" is not an address: "-1" is not the number of a frame`, form},
		{"leading zero", "triage-1:01", fault.InvalidAddress, `"triage-1:01" is not an address: "01" is not the number of a frame`, form},
		{"no run", ":1", fault.InvalidAddress, `":1" is not an address: the run before the colon is missing`, form},
		{"an engine's number that is none", "triage-1:smithers/abc", fault.InvalidAddress, `"triage-1:smithers/abc" is not an address: "abc" is not the number of a frame`, form},
		{"an engine without a number", "triage-1:smithers/", fault.InvalidAddress, `"triage-1:smithers/" is not an address: "" is not the number of a frame`, form},
		{"no engine", "triage-1:/7", fault.InvalidAddress, `"triage-1:/7" is not an address: the engine before the slash is missing`, form},
		{"nothing", "", fault.InvalidRunID, "the run id is empty", "`git smithers runs` lists the runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Load(t.Context(), c.address)
			var f *fault.Error
			require.ErrorAs(t, err, &f)
			assert.Equal(t, c.code, f.Code)
			assert.Equal(t, c.message, f.Msg)
			if c.hint != "" {
				assert.Equal(t, []string{c.hint}, f.Hints)
			}
		})
	}
}

func TestARunIDThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "parent")
	before := repo.Git("for-each-ref")
	for name, id := range map[string]string{"empty": "", "too long": strings.Repeat("x", 4097), "no text": "\xff\xfe"} {
		_, err := s.Create(t.Context(), snapshot.Run{ID: id, Status: snapshot.RunRunning}, snapshot.Draft{})
		assert.Equal(t, fault.InvalidRunID, fault.CodeOf(err), name)
		if id != "" {
			_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "parent", RunID: id})
			assert.Equal(t, fault.InvalidRunID, fault.CodeOf(err), name)
		}
	}
	assert.Equal(t, before, repo.Git("for-each-ref"))
}
