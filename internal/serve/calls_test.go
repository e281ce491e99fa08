package serve_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/serve"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const helloLogCall = `{"id":0,"method":"hello","params":{"protocol":1,"client":{"name":"test","version":"1"},"log":%q}}`

// callLog is a client's log of calls.
type callLog struct {
	t    *testing.T
	Name string
	Path string
	Salt uint32
}

// helloLog says hello, and returns the log that the server has made or, if it is there, the one with the name.
func (c *client) helloLog(name string) *callLog {
	c.t.Helper()
	r := c.call(fmt.Sprintf(helloLogCall, name))
	require.Nil(c.t, r.Error)
	l := &callLog{t: c.t}
	require.NoError(c.t, json.Unmarshal(r.Result["log"], l))
	return l
}

// append notes calls, each of which is a line and its blobs.
func (l *callLog) append(calls ...string) {
	l.t.Helper()
	file, err := os.OpenFile(l.Path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(l.t, err)
	for _, call := range calls {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(call))) //nolint:gosec // short
		l.Salt = crc32.Update(crc32.Update(l.Salt, crc32.IEEETable, head), crc32.IEEETable, []byte(call))
		_, err = file.Write(append(binary.LittleEndian.AppendUint32(head, l.Salt), call...))
		require.NoError(l.t, err)
	}
	require.NoError(l.t, file.Close())
}

// nextCall is a call in a log that puts the checkpoint n of a thread, whose parent is n-1 and whose only channel has a value.
func nextCall(thread string, n int, value string) string {
	return fmt.Sprintf(`{"id":1000,"method":"put","params":{"thread":%q,"ns":"","id":"%03d","parent":"%03d","checkpoint":{"v":4,"channel_versions":{"a":%d}},`+
		`"metadata":{"source":"loop"},"present":["a"],"sent":[{"channel":"a","type":"json"}]},"blobs":[%d]}`, thread, n, n-1, n+1, len(value)) + "\n" + value
}

// writesCall is a call in a log that puts a write of a checkpoint.
func writesCall(thread string, n int) string {
	return fmt.Sprintf(`{"id":2000,"method":"putWrites","params":{"thread":%q,"ns":"","id":"%03d","task":"t","writes":[{"idx":0,"channel":"a","type":"json"}]},"blobs":[1]}`,
		thread, n) + "\n7"
}

// begin puts the checkpoint 000 of a thread.
func (c *client) begin(thread string) {
	c.t.Helper()
	require.Nil(c.t, c.call(putCall(1, thread, "000", 3), `"0"`).Error)
}

// tuple returns the blobs of a checkpoint: its value and its writes.
func (c *client) tuple(thread string, n int) []string {
	c.t.Helper()
	r := c.call(fmt.Sprintf(`{"id":3,"method":"getTuple","params":{"thread":%q,"ns":"","id":"%03d"}}`, thread, n))
	require.Nil(c.t, r.Error)
	slices.Sort(r.data)
	return r.data
}

// end ends the client, and its server.
func (c *client) end() {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	require.NoError(c.t, <-c.done)
	c.done <- nil
}

// openStore opens a repository as a command does.
func openStore(t *testing.T, repo *repotest.Repo) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// sound checks the whole repository.
func sound(t *testing.T, repo *repotest.Repo) {
	t.Helper()
	report, err := verify.Runs(t.Context(), openStore(t, repo))
	require.NoError(t, err)
	assert.Empty(t, report.Problems)
	repo.Git("fsck", "--strict")
}

// frames returns the number of the newest frame of the thread t.
func frames(t *testing.T, repo *repotest.Repo) int64 {
	t.Helper()
	head, err := openStore(t, repo).Head(t.Context(), "t")
	require.NoError(t, err)
	return head.Row().Frame
}

func TestCallsInALogAreDoneBeforeTheNextCall(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	for n := 1; n <= 150; n++ { // some batches
		log.append(nextCall("t", n, strconv.Itoa(n)), writesCall("t", n))
	}
	assert.Equal(t, []string{"150", "7"}, c.tuple("t", 150))
	assert.Equal(t, []string{"1", "7"}, c.tuple("t", 1))
	assert.EqualValues(t, 150, frames(t, repo))
	c.end()
	sound(t, repo)
}

func TestAProcessThatOpensTheRepositoryDoesTheCallsOfDeadOnes(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	log.append(nextCall("t", 1, "1"), writesCall("t", 1))
	s := openStore(t, repo) // the server lives, and was not asked
	require.NoError(t, serve.PublishCalls(t.Context(), s))
	assert.EqualValues(t, 1, frames(t, repo))

	log.append(nextCall("t", 2, "2"))
	require.NoError(t, serve.PublishCalls(t.Context(), s))
	require.NoError(t, serve.PublishCalls(t.Context(), s))
	assert.EqualValues(t, 2, frames(t, repo), "a call is done once")
	assert.Equal(t, []string{"2"}, c.tuple("t", 2))
	c.end()
	sound(t, repo)
}

func TestAServerGoesOnWithTheLogOfTheOneBefore(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	first := newClient(t, repo)
	log := first.helloLog("")
	first.begin("t")
	log.append(nextCall("t", 1, "1"))
	second := newClient(t, repo)
	again := second.helloLog(log.Name)
	assert.Equal(t, log.Path, again.Path)
	log.append(nextCall("t", 2, "2")) // by the client, which has the same file open
	assert.Equal(t, []string{"2"}, second.tuple("t", 2))
	assert.NotEqual(t, log.Name, newClient(t, repo).helloLog("0123456789abcdef").Name, "a log that is gone is another")
	first.end()
	second.end()
	sound(t, repo)
}

// What a killed process leaves of its last call does not count, and neither does anything behind it.
func TestALogEndsAtTheFirstCallThatIsNotWhole(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	whole := *log
	whole.append(nextCall("t", 1, "1"))
	one, err := os.ReadFile(log.Path)
	require.NoError(t, err)
	for name, rest := range map[string][]byte{
		"nothing": {}, "a part of a length": {9, 0}, "zeros": make([]byte, 300), "too long": {0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0},
		"a damaged call": append(one[64:len(one)-1:len(one)-1], 'x'), "a call of another place": one[64:],
		"a part of a call": one[64 : len(one)-3],
	} {
		require.NoError(t, os.WriteFile(log.Path, append(slices.Clip(one), rest...), 0o600), name)
		require.NoError(t, serve.PublishCalls(t.Context(), openStore(t, repo)), name)
		assert.EqualValues(t, 1, frames(t, repo), name)
	}
	assert.Equal(t, []string{"1"}, c.tuple("t", 1))
	c.end()
	sound(t, repo)
}

// The mark of what is done is a hint: to do calls again changes nothing.
func TestCallsThatAreDoneAgainChangeNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	log.append(nextCall("t", 1, "1"), writesCall("t", 1), nextCall("t", 2, "2"))
	assert.Equal(t, []string{"2"}, c.tuple("t", 2))
	tip := repo.Git("for-each-ref", "refs/smithers")
	file, err := os.OpenFile(log.Path, os.O_WRONLY, 0)
	require.NoError(t, err)
	for _, mark := range []string{"\x00\x00\x00\x00", "torn mark..."} {
		_, err = file.WriteAt([]byte(mark), 0)
		require.NoError(t, err)
		require.NoError(t, serve.PublishCalls(t.Context(), openStore(t, repo)))
		assert.Equal(t, tip, repo.Git("for-each-ref", "refs/smithers"))
	}
	require.NoError(t, file.Close())
	c.end()
	sound(t, repo)
}

func TestAValueInALogContinuesTheOneBefore(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	list := strings.Repeat("x", 5000)
	log.append(nextCall("t", 1, `"`+list+`"`))
	grown := strings.Replace(nextCall("t", 2, `y"`), `"type":"json"}`, `"type":"json","base":{"length":5001}}`, 1)
	log.append(grown)
	require.NoError(t, serve.PublishCalls(t.Context(), openStore(t, repo))) // reads the log from its beginning
	assert.Equal(t, []string{`"` + list + `y"`}, c.tuple("t", 2))
	log.append(strings.Replace(nextCall("t", 3, `z"`), `"type":"json"}`, `"type":"json","base":{"length":5002}}`, 1))
	assert.Equal(t, []string{`"` + list + `yz"`}, c.tuple("t", 3))
	c.end()
	sound(t, repo)
}

// A call that comes after its thread was deleted comes too late. If only the parent is gone, a put with all of its values is stored, and the client
// hears that it must ask from now on.
func TestACallInALogDoesNotBringBackWhatWasDeleted(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c, other := newClient(t, repo), newClient(t, repo)
	log := c.helloLog("")
	other.hello()
	c.begin("gone")
	c.begin("t")
	require.Nil(t, other.call(`{"id":1,"method":"deleteThread","params":{"thread":"gone"}}`).Error)
	log.append(nextCall("gone", 1, "1"), writesCall("gone", 1), nextCall("t", 1, "1"), nextCall("t", 5, "5"))
	r := c.call(`{"id":1,"method":"publish","params":{}}`)
	require.Nil(t, r.Error)
	var late []string
	require.NoError(t, json.Unmarshal(r.Result["late"], &late))
	assert.ElementsMatch(t, []string{"gone", "t"}, late)
	info, err := os.Stat(log.Path)
	require.NoError(t, err)
	assert.JSONEq(t, strconv.FormatInt(info.Size(), 10), string(r.Result["done"]))
	assert.Nil(t, c.tuple("gone", 1))
	assert.Equal(t, []string{"1"}, c.tuple("t", 1), "other threads are stored")
	assert.Equal(t, []string{"5"}, c.tuple("t", 5), "its parent 004 is unknown, as that of a put which is asked may be")
	assert.JSONEq(t, "[]", string(c.call(`{"id":1,"method":"publish","params":{}}`).Result["late"]), "it is told once")
	c.end()
	other.end()
	sound(t, repo)
}

// A call that is refused is set aside, and the client's next call says why. The calls that follow are done, and other clients hear nothing.
func TestACallThatIsRefusedIsToldToItsClient(t *testing.T) {
	t.Parallel()
	put := nextCall("t", 1, "1")
	for name, call := range map[string]string{
		"a newer version's":         `{"id":1,"method":"putMagic","params":{}}` + "\n",
		"not a change":              `{"id":1,"method":"getTuple","params":{"thread":"t","ns":"","id":""}}` + "\n",
		"a root":                    strings.Replace(put, `"parent":"000",`, "", 1),
		"with files":                strings.Replace(put, `"present"`, `"files":true,"present"`, 1),
		"a beginning it never had":  strings.Replace(put, `"type":"json"}`, `"type":"json","base":{"length":5}}`, 1),
		"without metadata":          strings.Replace(put, `"metadata":{"source":"loop"},`, "", 1),
		"metadata that are null":    strings.Replace(put, `{"source":"loop"}`, "null", 1),
		"not a checkpoint":          strings.Replace(put, `{"v":4,"channel_versions":{"a":2}}`, "[]", 1),
		"writes of no checkpoint":   strings.Replace(writesCall("t", 0), `"000"`, `""`, 1),
		"fewer bytes than it names": `{"id":1,"method":"putWrites","params":{"thread":"t","ns":"","id":"000","task":"t","writes":[]},"blobs":[9]}` + "\n",
		"not JSON":                  "call me\n",
		"without a time":            `{"method":"flush","params":{}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			c, other := newClient(t, repo), newClient(t, repo)
			log := c.helloLog("")
			other.helloLog("")
			c.begin("t")
			c.begin("u")
			log.append(nextCall("u", 1, "1"), call, nextCall("u", 2, "2"), writesCall("t", 0))
			require.Nil(t, other.call(putCall(1, "v", "1", 1), "1").Error)
			r := c.call(`{"id":1,"method":"flush","params":{}}`)
			require.NotNil(t, r.Error)
			assert.Contains(t, r.Error.Message, "calls that were acknowledged were refused (1, kept in "+strings.TrimSuffix(log.Path, "log")+"refused)")
			assert.Equal(t, []string{`"0"`, "7"}, c.tuple("t", 0), "it is told once")
			assert.Equal(t, []string{"2"}, c.tuple("u", 2))
			log.append(nextCall("u", 3, "3"))
			assert.Equal(t, []string{"3"}, c.tuple("u", 3), "the log goes on")
			kept, err := os.ReadFile(strings.TrimSuffix(log.Path, "log") + "refused")
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(kept), "\n"))
			c.end()
			other.end()
			report, err := verify.Runs(t.Context(), openStore(t, repo))
			require.NoError(t, err)
			require.Len(t, report.Problems, 1, "verify and doctor name the file")
			assert.Equal(t, fault.StrandedLog, report.Problems[0].Code)
			require.NoError(t, os.Remove(strings.TrimSuffix(log.Path, "log")+"refused"))
			sound(t, repo)
		})
	}
}

// Where a call cannot be done now, it stays in the log, and each call of the client says why until it is done.
func TestACallThatCannotBeDoneNowIsDoneLater(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c, other := newClient(t, repo), newClient(t, repo)
	log := c.helloLog("")
	other.hello()
	c.begin("t")
	other.begin("u")
	packs := filepath.Join(repo.Dir, ".git", "objects", "pack")
	require.NoError(t, os.Rename(packs, packs+".away"))
	require.NoError(t, os.WriteFile(packs, nil, 0o666))
	log.append(nextCall("t", 1, "1"))
	for range 2 {
		assert.Contains(t, c.call(`{"id":1,"method":"flush","params":{}}`).Error.Message, "calls of a program wait in "+log.Path)
	}
	require.Nil(t, other.call(`{"id":1,"method":"flush","params":{}}`).Error)
	assert.Contains(t, other.call(`{"id":1,"method":"deleteForRuns","params":{"runs":["r"]}}`).Error.Message, "wait in "+log.Path, "nothing is dropped that a call could bring back")
	require.NoError(t, os.Remove(packs))
	require.NoError(t, os.Rename(packs+".away", packs))
	assert.Equal(t, []string{"1"}, c.tuple("t", 1))
	c.end()
	other.end()
	sound(t, repo)
}

// A log with an end is removed when its calls are done. Until then, it stays, whatever has become of its client.
func TestALogWithAnEndIsRemoved(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	log.append(nextCall("t", 1, "1"), `{"id":1,"method":"end","params":{}}`+"\n")
	require.NoError(t, serve.PublishCalls(t.Context(), openStore(t, repo)))
	_, err := os.Stat(log.Path)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, []string{"1"}, c.tuple("t", 1))
	c.end()
	sound(t, repo)
}

// docs/serve.md has this record.
func TestTheRecordOfThePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	(&callLog{t: t, Path: path, Salt: 7}).append(`{"id":1,"method":"end","params":{}}` + "\n")
	record, err := os.ReadFile(path)
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/serve.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), fmt.Sprintf("    %x %x %x\n", record[:4], record[4:8], record[8:]))
}

func TestAFullLogIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	log.append(nextCall("t", 1, "1"))
	next := &callLog{t: t}
	require.NoError(t, json.Unmarshal(c.call(`{"id":1,"method":"publish","params":{"anew":true}}`).Result["log"], next))
	assert.NotEqual(t, log.Name, next.Name)
	require.NoError(t, os.Remove(log.Path)) // as the client does
	next.append(nextCall("t", 2, "2"))
	assert.Equal(t, []string{"2"}, c.tuple("t", 2))
	c.end()
	sound(t, repo)
}

func TestALogIsRemovedAfterADay(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	logs := filepath.Join(repo.Dir, ".git", "smithers", "calls", "*.log")
	left := func() []string {
		found, err := filepath.Glob(logs)
		require.NoError(t, err)
		return found
	}
	s := openStore(t, repo)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	log.append(nextCall("t", 1, "1"))
	c.end() // whoever has closed the stream may live
	require.NoError(t, serve.PublishCalls(t.Context(), s))
	require.Len(t, left(), 1)
	file, err := os.OpenFile(log.Path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = file.WriteString("a part of a call")
	require.NoError(t, errors.Join(err, file.Close()))
	old := time.Now().Add(-25 * time.Hour)
	require.NoError(t, os.Chtimes(log.Path, old, old))
	require.NoError(t, serve.PublishCalls(t.Context(), s))
	assert.Empty(t, left())
	sound(t, repo)
}

// A process that was stopped while it did calls does not stop others that only look.
func TestCallsThatAnotherProcessIsAboutToDoAreTold(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := newClient(t, repo)
	log := c.helloLog("")
	c.begin("t")
	lock := flock.New(filepath.Join(filepath.Dir(log.Path), "lock"))
	locked, err := lock.TryLock()
	require.NoError(t, err)
	require.True(t, locked)
	require.NoError(t, serve.PublishCalls(t.Context(), openStore(t, repo)), "nothing waits")
	log.append(nextCall("t", 1, "1"))
	require.ErrorContains(t, serve.PublishCalls(t.Context(), openStore(t, repo)), "another process is about to do them")
	require.NoError(t, lock.Close())
	assert.Equal(t, []string{"1"}, c.tuple("t", 1))
	c.end()
	sound(t, repo)
}

func TestALogCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	for key, value := range map[string]string{"smithers.callLog": "false", "smithers.secrets": "refuse", "core.sharedRepository": "group"} {
		repo.Git("config", key, value)
		c := newClient(t, repo)
		assert.JSONEq(t, "null", string(c.call(fmt.Sprintf(helloLogCall, "")).Result["log"]), key)
		c.end()
		repo.Git("config", "--unset", key)
	}
	_, err := os.Stat(filepath.Join(repo.Dir, ".git", "smithers", "calls"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
