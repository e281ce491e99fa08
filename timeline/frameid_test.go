package timeline_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// withIDs appends a frame with ids that goes on from the frame based.
func withIDs(t *testing.T, head *timeline.Head, based int64, ids ...string) {
	t.Helper()
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Based: &based, IDs: ids}}))
}

// startWith makes a run whose frame 0 has ids.
func startWith(t *testing.T, s *timeline.Store, run string, ids ...string) *timeline.Head {
	t.Helper()
	head, err := create(t.Context(), s, snapshot.Run{ID: run, Status: snapshot.RunRunning}, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: ids}})
	require.NoError(t, err)
	return head
}

// found returns what an address means, or the code of the error.
func found(t *testing.T, s *timeline.Store, address string) string {
	t.Helper()
	at, err := s.Load(t.Context(), address)
	if err != nil {
		return string(fault.CodeOf(err))
	}
	return at.Address.String()
}

func TestAnIDNamesTheNewestFrameThatHasIt(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := startWith(t, s, "triage-1", "start", "call_1")
	withIDs(t, head, 0, "call_1", "call_2")
	withIDs(t, head, 1, "ns/call@3:9")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Subject: "something arrived"}))
	for address, want := range map[string]string{
		"triage-1@start":        "triage-1:0",
		"triage-1@call_1":       "triage-1:1",
		"triage-1@call_2":       "triage-1:1",
		"triage-1@ns/call@3:9":  "triage-1:2",
		"tri@call_2":            "triage-1:1",
		"triage-1@call":         "frame_not_found",
		"triage-1@ns/call@3":    "frame_not_found",
		"nope@call_1":           "run_not_found",
		"triage-1@":             "invalid_address",
		"@call_1":               "invalid_address",
		"triage-1@call_1:1":     "frame_not_found",
		"triage-1@\xff\x00long": "frame_not_found",
	} {
		assert.Equal(t, want, found(t, s, address), "%q", address)
	}
	var f *fault.Error
	_, err := s.Load(t.Context(), "triage-1@call_9")
	require.ErrorAs(t, err, &f)
	assert.Equal(t, `run "triage-1" has no frame with the id "call_9"`, f.Msg)
	assert.Equal(t, []string{"`git smithers timeline triage-1 --json` lists the frames and their ids"}, f.Hints)
	_, err = s.ResolveRun(t.Context(), "tri@call_2")
	require.ErrorAs(t, err, &f)
	assert.Equal(t, fault.InvalidAddress, f.Code)
	assert.Equal(t, []string{"type the run's id: triage-1"}, f.Hints)
}

func TestALoadedAddressSaysWhetherItIsARunAlone(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	startWith(t, s, "a@bc", "b")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "a@bc", RunID: "a", Input: []byte(`{"a":1}`)})
	require.NoError(t, err)
	for address, bare := range map[string]bool{"a@bc": true, "a@bc:0": false, "a": true, "a:0": false, "a@b": false} {
		at, err := s.Load(t.Context(), address)
		require.NoError(t, err)
		assert.Equal(t, bare, at.Bare, address)
	}
	assert.Equal(t, "a@bc:0", found(t, s, "a@b"), "the id, in the parent; not the run that begins so")
}

func TestADroppedFrameIsNotFoundByItsID(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := startWith(t, s, "run", "both")
	withIDs(t, head, 0, "both", "once")
	withIDs(t, head, 1, "once")
	withIDs(t, head, 0)
	assert.Equal(t, "run:0", found(t, s, "run@both"))
	_, err := s.Load(t.Context(), "run@once")
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	assert.Equal(t, fault.FrameNotFound, f.Code)
	assert.Equal(t, "the frame run:2 has the id, but a later frame dropped it: `git smithers show run:2` shows the dropped frame", f.Hints[0])
	assert.Equal(t, map[string]any{"runId": "run", "id": "once", "dropped": "run:2"}, f.Details)

	withIDs(t, head, 1) // as an undo does
	assert.Equal(t, "run:1", found(t, s, "run@once"))
}

func TestAnIDIsFoundInTheRunThatAForkWasMadeFrom(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := startWith(t, s, "old", "start")
	withIDs(t, head, 0, "call_1")
	withIDs(t, head, 0, "call_2") // steps over call_1
	withIDs(t, head, 2, "call_3")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "old:2", RunID: "mid"})
	require.NoError(t, err)
	withIDs(t, head, 3, "call_2", "late")
	mid, err := s.Head(t.Context(), "mid")
	require.NoError(t, err)
	withIDs(t, mid, 0, "mid_1")
	_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "mid:1", RunID: "new", Input: []byte(`{"a":1}`)})
	require.NoError(t, err)
	new1, err := s.Head(t.Context(), "new")
	require.NoError(t, err)
	withIDs(t, new1, 0, "new_1")
	_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "old:2", RunID: "idle"})
	require.NoError(t, err)
	for address, want := range map[string]string{
		"idle@call_2": "idle:0",
		"old@call_2":  "old:4",
		"mid@call_2":  "mid:0", // frame 0 is the parent's frame itself
		"mid@start":   "old:0",
		"mid@call_3":  "frame_not_found", // after the frame that was forked
		"mid@late":    "frame_not_found",
		"new@new_1":   "new:1",
		"new@mid_1":   "mid:1",
		"new@call_2":  "mid:0",
		"new@start":   "old:0",
		"new@call_1":  "frame_not_found",
	} {
		assert.Equal(t, want, found(t, s, address), "%q", address)
	}
	var f *fault.Error
	_, err = s.Load(t.Context(), "new@call_1")
	require.ErrorAs(t, err, &f)
	assert.Contains(t, f.Hints[0], "the frame old:1 has the id, but a later frame dropped it")

	_, err = s.LoadFor(t.Context(), "mid@call_2", timeline.ToChange)
	require.NoError(t, err)
	_, err = s.LoadFor(t.Context(), "new@mid_1", timeline.ToChange)
	require.ErrorAs(t, err, &f)
	assert.Equal(t, fault.FrameNotFound, f.Code)
	assert.Equal(t, `run "new" has no frame of its own with the id "mid_1": the frame mid:1, from before the fork, has the id`, f.Msg)
	assert.Equal(t, []string{"`git smithers fork mid:1` continues from that frame in a new run"}, f.Hints)
	_, _, err = s.OpenToChange(t.Context(), "new@start")
	assert.Equal(t, fault.FrameNotFound, fault.CodeOf(err))

	_, err = prune.New(s, prune.Options{}).Forget(t.Context(), prune.Policy{}, false, "old")
	require.NoError(t, err)
	_, err = s.Load(t.Context(), "new@start")
	require.ErrorAs(t, err, &f)
	assert.Equal(t, fault.FrameNotFound, f.Code)
	assert.Equal(t, `the frames from before the fork belong to run "old", which is not in this repository`, f.Hints[0])
}

// TestIDsFarBackAreFoundWithAndWithoutTheIndex has more frames than are read without the index.
func TestIDsFarBackAreFoundWithAndWithoutTheIndex(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	head := startWith(t, s, "run", "first")
	for i := range int64(200) {
		based := i
		switch i {
		case 40:
			based = 20 // drops 21 to 40
		case 160:
			based = 150
		}
		withIDs(t, head, based, fmt.Sprint("call_", i+1), fmt.Sprint("ten_", (i+1)/10))
	}
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:195", RunID: "fork", Input: []byte(`{"a":1}`)})
	require.NoError(t, err)
	wants := map[string]string{
		"run@first": "run:0", "run@call_7": "run:7", "run@call_30": "frame_not_found", "run@call_41": "run:41", "run@call_155": "frame_not_found",
		"run@ten_2": "run:20", "run@ten_3": "frame_not_found", "run@ten_4": "run:49", "run@none": "frame_not_found",
		"fork@ten_19": "run:195", "fork@call_199": "frame_not_found", "fork@ten_2": "run:20", "fork@first": "run:0",
	}
	check := func(name string, s *timeline.Store) {
		for address, want := range wants {
			assert.Equal(t, want, found(t, s, address), "%s: %s", name, address)
		}
	}
	check("with the index", s)
	_, err = s.Load(t.Context(), "run@ten_3")
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	assert.Contains(t, f.Hints[0], "the frame run:39 has the id")

	index := filepath.Join(repo.GitDir, "smithers", "index.db")
	require.FileExists(t, index)
	other := open(t, repo)
	require.NoError(t, s.Close())
	for _, name := range []string{index, index + "-wal", index + "-shm"} {
		require.NoError(t, errNotThere(os.Remove(name)))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(index, "in-the-way"), 0o700))
	check("without the index", other)
}

// errNotThere returns nil for the error that a file does not exist.
func errNotThere(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// TestAnAddressIsSplitInOneWay compares with the rule itself, for runs whose ids contain what addresses are put together with.
func TestAnAddressIsSplitInOneWay(t *testing.T) {
	t.Parallel()
	s := open(t, sealRepo(t))
	runs := []string{"a", "a@", "a@b", "a@b@b", "a:0", "a:1@b", "b:0@", "b@a:0", "b@:", "bb:a@b", ":", ":@a", "@b:0"}
	ids := []string{"a", "b", "b@b", ":0", "0", "@", "a:0", "@b"}
	for _, run := range runs {
		startWith(t, s, run, ids...)
	}
	// whole returns the run with the id name or, where a prefix will do, the only one that begins with it.
	whole := func(name string, byPrefix bool) (run string, ambiguous bool) {
		if !byPrefix {
			if slices.Contains(runs, name) {
				return name, false
			}
			return "", false
		}
		for _, one := range runs {
			if strings.HasPrefix(one, name) && name != "" {
				run, ambiguous = one, run != ""
				if ambiguous {
					return run, true
				}
			}
		}
		return run, false
	}
	at := func(run, id string) string {
		if !slices.Contains(ids, id) {
			return "frame_not_found"
		}
		return run + ":0"
	}
	rule := func(address string, byPrefix bool) string {
		// split is whole for the part of the address before a colon or an @.
		split := func(name string) (string, bool) {
			run, ambiguous := whole(name, byPrefix)
			if byPrefix && !ambiguous && strings.HasPrefix(run, address) {
				return "", false // the address is rather a prefix of the run's id
			}
			return run, ambiguous
		}
		if colon := strings.LastIndexByte(address, ':'); colon > 0 {
			number, err := strconv.ParseUint(address[colon+1:], 10, 32)
			if canonical := strconv.FormatUint(number, 10) == address[colon+1:]; err == nil && canonical {
				run, ambiguous := split(address[:colon])
				switch {
				case ambiguous:
					return "run_ambiguous"
				case run != "" && number == 0:
					return run + ":0"
				case run != "":
					return "frame_not_found"
				}
			}
		}
		missing := ""
		for i := range address {
			if address[i] != '@' || i == 0 || i == len(address)-1 {
				continue
			}
			run, ambiguous := split(address[:i])
			if ambiguous {
				return "run_ambiguous"
			}
			if run == "" {
				continue
			}
			if missing = at(run, address[i+1:]); missing != "frame_not_found" {
				return missing
			}
		}
		run, ambiguous := whole(address, byPrefix)
		switch {
		case ambiguous:
			return "run_ambiguous"
		case run != "":
			return run + ":0"
		}
		return missing
	}
	repotest.Check(t, func(rt *rapid.T) {
		var address string
		if rapid.Bool().Draw(rt, "of a run") {
			address = rapid.SampledFrom(runs).Draw(rt, "run")
		}
		address += rapid.StringOfN(rapid.RuneFrom([]rune("ab@:01")), 0, 5, -1).Draw(rt, "rest")
		if address == "" {
			return
		}
		want := cmp.Or(rule(address, false), rule(address, true))
		have := found(t, s, address)
		if want == "" {
			require.Contains(t, []string{"run_not_found", "invalid_address"}, have, "%q", address)
			return
		}
		require.Equal(t, want, have, "%q", address)
	})
}
