package source_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

func TestFramesInflateToWhatSmithersOwnLibraryMakesOfThem(t *testing.T) {
	t.Parallel()
	for run, name := range map[string]string{"run-a": "git-run-fork-replay.db", "run-j": "jj-pristine-31frames.db"} {
		golden := goldenFrames(t, run)
		read(t, filepath.Join(fixtures, name), func(tx *source.Tx) {
			tree, seen := "", 0
			for row, err := range tx.Rows("_smithers_frames", run) {
				require.NoError(t, err)
				tree, err = source.Inflate(tree, row["xml_json"].Bytes, row["encoding"].Bytes)
				require.NoError(t, err)
				assert.Equal(t, golden[row["frame_no"].Int], tree)
				assert.Equal(t, row["xml_hash"].Bytes, source.XMLHash(tree))
				seen++
			}
			assert.Len(t, golden, seen)
		})
	}
}

// goldenFrames are the trees of a run by the number of their frame.
func goldenFrames(t *testing.T, run string) map[int64]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(fixtures, "golden", run+"-frames-inflated.json"))
	require.NoError(t, err)
	var list []struct {
		FrameNo int64  `json:"frameNo"`
		XMLJSON string `json:"xmlJson"`
	}
	require.NoError(t, json.Unmarshal(content, &list))
	frames := make(map[int64]string)
	for _, frame := range list {
		frames[frame.FrameNo] = frame.XMLJSON
	}
	return frames
}

func TestDeltasApplyAsSmithersOwnLibraryAppliesThem(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(fixtures, "golden", "frame-codec.json"))
	require.NoError(t, err)
	var golden map[string]struct{ Prev, Next, Delta, Applied string }
	require.NoError(t, json.Unmarshal(content, &golden))
	require.NotEmpty(t, golden)
	for name, c := range golden {
		got, err := source.Inflate(c.Prev, c.Delta, source.DeltaFrame)
		require.NoError(t, err, name)
		assert.Equal(t, c.Applied, got, name)
	}
}

// element is a tree of one element with properties.
func element(props string) string {
	return `{"kind":"element","tag":"t","props":` + props + `,"children":[]}`
}

func TestAKeyframeIsMadeCanonicalAsJavaScriptWould(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`null`:  `null`,
		`false`: `null`,
		`0`:     `null`,
		` {"children":[],"extra":1,"tag":"t","props":{"b":"1","a":"2"}} `: element(`{"a":"2","b":"1"}`),
		element(`null`):                                              element(`{}`),
		element(`{"b":"","10":"","9":"","":""}`):                     element(`{"9":"","10":"","":"","b":""}`),
		element(`{"｡":1,"😀":2}`):                                     element(`{"😀":2,"｡":1}`),
		element(`{"a":"A/\b\u001f\ud800x\udc00"}`):                   element(`{"a":"A/\b\u001f\ud800x\udc00"}`),
		element(`{"a": [1, 1e+21, 1e-7, 5e-324, {"1": 3, "y": 1}]}`): element(`{"a":[1,1e+21,1e-7,5e-324,{"1":3,"y":1}]}`),
		element(`{"a":1,"a":2}`):                                     element(`{"a":2}`),
		`{"kind":"text","more":1,"text":"é"}`:                        `{"kind":"text","text":"é"}`,
		`{"kind":"text"}`:                                            `{"kind":"text"}`,
		`{"children":[{"kind":"text","text":"x"}]}`:                  `{"kind":"element","props":{},"children":[{"kind":"text","text":"x"}]}`,
	} {
		for _, encoding := range []string{source.KeyFrame, "full", "whatever"} {
			got, err := source.Inflate("", given, encoding)
			require.NoError(t, err, given)
			assert.Equal(t, want, got)
		}
	}
}

func TestWhatIsNoTreeIsDamaged(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		``, `{`, `[]`, `5`, `"x"`, `{}`, `{"children":1}`, `{"children":[null]}`, `{"children":[],"props":[]}`,
		`null null`, `nul`, `{"a"}`, `{"children":[],}`, `{"children":[,]}`, `{"tag":"\x","children":[]}`, `{"tag":"\u12g4","children":[]}`,
		`{"tag":01,"children":[]}`, `{"tag":1.,"children":[]}`, `{"tag":-,"children":[]}`, `{"tag":1e,"children":[]}`,
		"{\"tag\":\"\n\",\"children\":[]}", "{\"tag\":\"\xff\",\"children\":[]}", "{\"tag\":\"\xed\xa0\x80\",\"children\":[]}", `{"tag":"`,
	} {
		_, err := source.Inflate("", given, source.KeyFrame)
		assert.ErrorIs(t, err, source.ErrDamaged, given)
	}
}

func TestADeltaThatDoesNotFitIsDamaged(t *testing.T) {
	t.Parallel()
	before := element(`{"id":"a"}`)
	delta := func(ops string) string { return `{"version":1,"ops":[` + ops + `]}` }
	for _, given := range []string{
		``, `null`, `[]`, `{}`, `{"version":1}`, `{"version":2,"ops":[]}`, `{"version":"1","ops":[]}`, `{"version":1,"ops":{}}`,
		delta(`1`), delta(`{"op":"set","path":[]}`), delta(`{"op":"set","value":1}`), delta(`{"op":"move","path":["tag"],"value":1}`),
		delta(`{"op":"set","path":["nowhere","id"],"value":"b"}`),
		delta(`{"op":"set","path":["tag","id"],"value":"b"}`),
		delta(`{"op":"set","path":["children","0"],"value":"b"}`),
		delta(`{"op":"set","path":["children",0],"value":"b"}`),
		delta(`{"op":"insert","path":["children",1],"value":null}`),
		delta(`{"op":"insert","path":["children",-1],"value":null}`),
		delta(`{"op":"insert","path":["children",0.5],"value":null}`),
		delta(`{"op":"insert","path":["children",4294967296],"value":null}`),
		delta(`{"op":"insert","path":["props","x"],"value":null}`),
		delta(`{"op":"remove","path":["children",0]}`),
		delta(`{"op":"remove","path":["props","x"]}`),
		delta(`{"op":"set","path":[],"value":1}`),
	} {
		_, err := source.Inflate(before, given, source.DeltaFrame)
		assert.ErrorIs(t, err, source.ErrDamaged, given)
	}
}

func TestADeltaWithoutAFrameBeforeItIsDamaged(t *testing.T) {
	t.Parallel()
	for _, delta := range []string{`{"version":1,"ops":[]}`, `{"version":1,"ops":[{"op":"set","path":[],"value":` + element(`{}`) + `}]}`} {
		_, err := source.Inflate("", delta, source.DeltaFrame)
		assert.ErrorIs(t, err, source.ErrDamaged)
	}
}

func TestTheRootOfATreeCanBeSetAndRemoved(t *testing.T) {
	t.Parallel()
	got, err := source.Inflate("null", `{"version":1,"ops":[{"op":"set","path":[],"value":`+element(`{"id":"b"}`)+`}]}`, source.DeltaFrame)
	require.NoError(t, err)
	assert.Equal(t, element(`{"id":"b"}`), got)
	got, err = source.Inflate(got, `{"version":1,"ops":[{"op":"remove","path":[]}]}`, source.DeltaFrame)
	require.NoError(t, err)
	assert.Equal(t, "null", got)
}

func TestATreeOfAnyDepthAndSizeIsReadOrRefused(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		return strings.Repeat(`{"children":[`, depth) + strings.Repeat(`]}`, depth)
	}
	_, err := source.Inflate("", nested(4000), source.KeyFrame)
	require.NoError(t, err)
	_, err = source.Inflate("", nested(500_000), source.KeyFrame)
	require.ErrorIs(t, err, source.ErrDamaged)
	_, err = source.Inflate("", strings.Repeat("[", 10_000_000), source.KeyFrame)
	require.ErrorIs(t, err, source.ErrDamaged)
	_, err = source.Inflate("", element(`{"a":"`+strings.Repeat("x", 17<<20)+`"}`), source.KeyFrame)
	require.ErrorIs(t, err, source.ErrTooLarge)
}

func TestDeltasCannotMakeATreeDeeperThanItMayBe(t *testing.T) {
	t.Parallel()
	// Each operation puts another 2,000 elements at the end of those before.
	deep := strings.Repeat(`{"children":[`, 2000) + strings.Repeat(`]}`, 2000)
	var ops []string
	for i := 1; i <= 5; i++ {
		path := strings.Repeat(`"children",0,`, 2000*i-1) + `"children",0`
		ops = append(ops, `{"op":"insert","path":[`+path+`],"value":`+deep+`}`)
	}
	_, err := source.Inflate(deep, `{"version":1,"ops":[`+strings.Join(ops, ",")+`]}`, source.DeltaFrame)
	require.ErrorIs(t, err, source.ErrDamaged)
	assert.ErrorContains(t, err, "deep")
}

// FuzzInflate finds that what is inflated stays what it is, and is JSON.
func FuzzInflate(f *testing.F) {
	f.Add("null", `{"version":1,"ops":[]}`, true)
	f.Add(element(`{"id":"a","\ud800":1.50}`), `{"version":1,"ops":[{"op":"set","path":["props","id"],"value":"b"}]}`, true)
	f.Add(element(`{}`), `{"version":1,"ops":[{"op":"insert","path":["children",0],"value":`+element(`{"10":"","9":""}`)+`}]}`, true)
	f.Add("", element(`{"a":[1e21,{"b":null}]}`), false)
	f.Fuzz(func(t *testing.T, before, xml string, delta bool) {
		encoding := source.KeyFrame
		if delta {
			encoding = source.DeltaFrame
			var err error
			if before, err = source.Inflate("", before, source.KeyFrame); err != nil {
				return
			}
		}
		tree, err := source.Inflate(before, xml, encoding)
		if err != nil {
			if !errors.Is(err, source.ErrDamaged) && !errors.Is(err, source.ErrTooLarge) {
				t.Fatalf("another error: %v", err)
			}
			return
		}
		if !json.Valid([]byte(tree)) {
			t.Fatalf("no JSON: %s", tree)
		}
		again, err := source.Inflate("", tree, source.KeyFrame)
		if err != nil || again != tree {
			t.Fatalf("%s\nbecomes\n%s, %v", tree, again, err)
		}
	})
}
