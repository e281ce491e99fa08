package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// What hooks of coding agents cost: CPU of the hook's whole process, by turns with git status in the same repository.
func BenchmarkSession(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "git-smithers")
	build := exec.CommandContext(b.Context(), "go", "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	text := newText()

	small := newDay(b, binary, text, 1000)
	small.begin()
	b.Run("no-frame", func(b *testing.B) {
		small.beside(b, func() time.Duration {
			return small.hook("PostToolBatch", `,"tool_calls":[{"tool_name":"Read","tool_use_id":"r"}]`)
		})
	})
	b.Run("frame-without-files", func(b *testing.B) {
		small.beside(b, func() time.Duration { return small.batch(false, small.hook) })
	})
	b.Run("files-1000", func(b *testing.B) {
		small.beside(b, func() time.Duration { return small.batch(true, small.hook) })
	})
	b.Run("files-10000", func(b *testing.B) {
		large := newDay(b, binary, text, 10_000)
		large.begin()
		large.beside(b, func() time.Duration { return large.batch(true, large.hook) })
	})
	b.Run("day", func(b *testing.B) { benchDay(b, newDay(b, binary, text, 1000)) })
	b.Run("transcript", func(b *testing.B) { benchTranscripts(b, newDay(b, binary, text, 1000), newDay(b, binary, text, 1000)) })
	b.Run("growth", func(b *testing.B) { benchGrowth(b, newDay(b, binary, text, 1000)) })
	b.Run("prompt", func(b *testing.B) { benchPrompt(b, newDay(b, binary, text, 1000)) })
	b.Run("frames", func(b *testing.B) { benchLength(b, newDay(b, binary, text, 1000), newDay(b, binary, text, 1000)) })
}

// benchDay measures the repository's growth by a day's session: 500 batches in 50 turns, 10 MB of conversation, 200 changed files.
func benchDay(b *testing.B, d *day) {
	b.Helper()
	before := d.size()
	const batches, perTurn, changes = 500, 10, 200
	d.share = 9_250_000 / batches // and escapes
	for i := range batches {
		if i%perTurn == 0 {
			d.inside("UserPromptSubmit", `,"prompt":`+quoted(d.text.say(200)))
		}
		d.batch(i*changes/batches != (i+1)*changes/batches, d.inside)
		if i%perTurn == perTurn-1 {
			d.inside("Stop", `,"last_assistant_message":`+quoted(d.text.say(500)))
		}
	}
	said, err := os.Stat(d.transcript)
	require.NoError(b, err)
	open, refs := d.size()-before, d.looseRefs()
	d.inside("SessionEnd", "") // which seals the session
	for b.Loop() {
	}
	b.ReportMetric(float64(said.Size()), "said-B")
	b.ReportMetric(float64(open), "open-B")
	b.ReportMetric(float64(d.size()-before), "ended-B")
	b.ReportMetric(float64(refs), "refs")
}

// benchTranscripts measures hooks behind transcripts of 1 MB and of 100 MB, by turns.
func benchTranscripts(b *testing.B, short, long *day) {
	b.Helper()
	var slowest time.Duration
	for d, size := range map[*day]int{short: 1_000_000, long: 100_000_000} {
		file, err := os.Create(d.transcript)
		require.NoError(b, err)
		for written := 0; written < size; {
			lines := d.lines(fmt.Sprint("before", written), 20_000)
			n, err := file.Write(lines)
			require.NoError(b, err)
			written += n
		}
		require.NoError(b, file.Close())
		const piece = 3_000_000 // what a hook reads at once, and less
		for range size/piece + 1 {
			began := time.Now()
			d.begin()
			slowest = max(slowest, time.Since(began))
		}
	}
	var one, hundred []time.Duration
	for b.Loop() {
		one = append(one, short.batch(true, short.hook))
		hundred = append(hundred, long.batch(true, long.hook))
	}
	b.ReportMetric(milliseconds(one), "hook-1MB-ms")
	b.ReportMetric(milliseconds(hundred), "hook-100MB-ms")
	b.ReportMetric(float64(slowest.Milliseconds()), "p100-ms")
}

// benchGrowth measures hooks behind a transcript that has grown by 12 MB since the hook before.
func benchGrowth(b *testing.B, d *day) {
	b.Helper()
	d.begin()
	small := d.share
	const growth, line = 12_000_000, 100_000
	var hooks, elapsed []time.Duration
	for b.Loop() {
		d.share = line
		for written := 0; written < growth; written += line {
			d.batch(false, func(string, string) time.Duration { return 0 })
		}
		d.share = small
		began := time.Now()
		hooks = append(hooks, d.batch(true, d.hook))
		elapsed = append(elapsed, time.Since(began))
	}
	b.ReportMetric(milliseconds(hooks), "hook-12MB-ms")
	b.ReportMetric(float64(hooks[len(hooks)*95/100].Milliseconds()), "p95-ms")
	b.ReportMetric(milliseconds(elapsed), "elapsed-ms")
}

// benchPrompt measures a hook that is handed a prompt of 60 MB.
func benchPrompt(b *testing.B, d *day) {
	b.Helper()
	const size = 60_000_000
	members := `,"prompt":` + quoted(d.text.say(size))
	var hooks []time.Duration
	var most int
	for b.Loop() {
		cmd := process(d.dir, d.env, d.binary, "session", "hook", "claude", "UserPromptSubmit")
		cmd.Stdin = strings.NewReader(d.input("UserPromptSubmit", members))
		began := time.Now()
		require.NoError(b, cmd.Start())
		ended := make(chan error)
		go func() { ended <- cmd.Wait() }()
		for running := true; running; { // the memory in the rusage of a process can be that of its parent
			select {
			case err := <-ended:
				require.NoError(b, err)
				running = false
			case <-time.After(time.Millisecond):
				most = max(most, memoryOf(cmd.Process.Pid))
			}
		}
		hooks = append(hooks, time.Since(began))
	}
	b.ReportMetric(milliseconds(hooks), "hook-60MB-ms")
	b.ReportMetric(float64(most)/1024, "rss-MB")
}

// memoryOf returns the most memory that a running process has had, in KiB; 0 where that is unknown.
func memoryOf(pid int) (kib int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, most, found := strings.Cut(string(status), "VmHWM:"); found {
		_, _ = fmt.Sscan(most, &kib)
	}
	return kib
}

// benchLength measures hooks after 10 and after 10,000 frames, by turns, and what 5,000 batches leave to others.
func benchLength(b *testing.B, short, long *day) {
	b.Helper()
	short.many(10)
	long.many(5000)
	refs := long.looseRefs()
	var with, without []time.Duration
	for range 9 {
		without = append(without, short.command("git", "log", "--graph", "--oneline", "HEAD"))
		with = append(with, long.command("git", "log", "--all", "--graph", "--oneline"))
	}
	long.many(5000)
	var few, many []time.Duration
	for b.Loop() {
		few = append(few, short.batch(true, short.hook))
		many = append(many, long.batch(true, long.hook))
	}
	b.ReportMetric(float64(refs), "refs")
	b.ReportMetric(milliseconds(few), "hook-10-ms")
	b.ReportMetric(milliseconds(many), "hook-10000-ms")
	b.ReportMetric(milliseconds(without), "without-ms")
	b.ReportMetric(milliseconds(with), "with-ms")
}

// day is a session of Claude Code in a repository with files and a history of 1,000 commits.
type day struct {
	b          *testing.B
	dir        string
	env        []string
	binary     string
	transcript string
	text       *text
	calls      int // so far
	share      int // of the transcript, in bytes, for each batch
	files      int
}

func newDay(b *testing.B, binary string, text *text, files int) *day {
	b.Helper()
	base, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "session-")
	require.NoError(b, err)
	d := &day{
		b: b, dir: filepath.Join(base, "repo"), env: repotest.Env(base), binary: binary, transcript: filepath.Join(base, "t.jsonl"),
		text: text, share: 2_000, files: files,
	}
	require.NoError(b, os.Mkdir(d.dir, 0o777))
	for i := range files {
		require.NoError(b, os.MkdirAll(filepath.Dir(d.file(i)), 0o777))
		require.NoError(b, os.WriteFile(d.file(i), []byte(text.say(2_000)), 0o666))
	}
	d.command("git", "init", "--quiet")
	d.command("git", "add", ".")
	d.command("git", "commit", "--quiet", "--message=first")
	var history bytes.Buffer
	const commits = 999
	for i := range commits {
		fmt.Fprintf(&history, "commit refs/heads/side\ncommitter C <c@example.invalid> %d +0000\ndata 4\nside\n", 1_767_000_000+i)
		if i == 0 {
			history.WriteString("from HEAD\n")
		}
	}
	load := process(d.dir, d.env, "git", "fast-import", "--quiet")
	load.Stdin = &history
	require.NoError(b, load.Run())
	d.command("git", "reset", "--quiet", "--soft", "side")
	return d
}

// file returns the path of a file of the working copy.
func (d *day) file(number int) string {
	const perFolder = 50
	return filepath.Join(d.dir, fmt.Sprintf("folder%03d", number/perFolder), fmt.Sprintf("file%05d.txt", number))
}

// command runs a command in the working copy, and returns the CPU time of its processes.
func (d *day) command(args ...string) time.Duration {
	d.b.Helper()
	cmd := process(d.dir, d.env, args[0], args[1:]...)
	require.NoError(d.b, cmd.Run(), args)
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// input is what the agent hands to a hook.
func (d *day) input(event, members string) string {
	return fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"cwd":%q,"hook_event_name":%q%s}`, d.transcript, d.dir, event, members)
}

// hook calls a hook in a process of its own, and returns the CPU time of its processes.
func (d *day) hook(event, members string) time.Duration {
	d.b.Helper()
	cmd := process(d.dir, d.env, d.binary, "session", "hook", "claude", event)
	cmd.Stdin = strings.NewReader(d.input(event, members))
	require.NoError(d.b, cmd.Run())
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// inside calls a hook in this process, with a store of its own.
func (d *day) inside(event, members string) time.Duration {
	agent.Hook{
		Agent: dialect.Claude, Event: event, Input: strings.NewReader(d.input(event, members)), Dir: d.dir, Env: d.env, Now: time.Now,
	}.Run(context.Background())
	return 0
}

// begin sends a prompt.
func (d *day) begin() { d.inside("UserPromptSubmit", `,"prompt":"go on"`) }

// batch is a batch of one call, with its lines in the transcript. change says whether the call has changed a file.
func (d *day) batch(change bool, hook func(event, members string) time.Duration) time.Duration {
	d.b.Helper()
	d.calls++
	id := "toolu_01" + d.text.id()
	if change {
		require.NoError(d.b, os.WriteFile(d.file(d.calls%d.files), []byte(d.text.say(2_000)), 0o666))
	}
	file, err := os.OpenFile(d.transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(d.b, err)
	_, err = file.Write(d.lines(id, d.share))
	require.NoError(d.b, err)
	require.NoError(d.b, file.Close())
	return hook("PostToolBatch", `,"tool_calls":[{"tool_name":"Edit","tool_use_id":"`+id+`"}]`)
}

// many appends frames without files and without lines, with one store. It is fast, and each frame is as one of a hook.
func (d *day) many(frames int) {
	d.b.Helper()
	ctx := context.Background()
	env := append(slices.Clone(d.env), "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_WORKTREE=off")
	store, err := timeline.Open(ctx, timeline.Options{Dir: d.dir, Env: env, Now: time.Now, Session: true})
	require.NoError(d.b, err)
	claude, _ := dialect.Of(dialect.Claude)
	const perTurn = 20
	for i := range frames {
		d.calls++
		ev := dialect.Event{Session: "s", Kind: dialect.Called, Calls: []dialect.Call{{ID: "toolu_01" + d.text.id(), Tool: "Edit"}}}
		if i%perTurn == 0 {
			ev = dialect.Event{Session: "s", Kind: dialect.Prompted, Prompt: d.text.say(100)}
		}
		recorded, err := agent.Record(ctx, store, claude, ev)
		require.NoError(d.b, err)
		require.True(d.b, recorded)
	}
	require.NoError(d.b, store.Close())
}

// beside samples a hook by turns with git status, and reports the medians.
func (d *day) beside(b *testing.B, hook func() time.Duration) {
	b.Helper()
	var hooks, statuses []time.Duration
	for b.Loop() {
		hooks = append(hooks, hook())
		statuses = append(statuses, d.command("git", "status", "--short"))
	}
	b.ReportMetric(milliseconds(hooks), "hook-ms")
	b.ReportMetric(milliseconds(statuses), "status-ms")
}

// milliseconds returns the median of samples.
func milliseconds(samples []time.Duration) float64 {
	slices.Sort(samples)
	return float64(samples[len(samples)/2].Microseconds()) / 1000
}

// size returns the size of all files of the repository, in bytes.
func (d *day) size() (size int64) {
	d.b.Helper()
	d.eachFile(".git", func(_ string, info fs.FileInfo) { size += info.Size() })
	return size
}

// looseRefs returns the number of files of refs.
func (d *day) looseRefs() (count int) {
	d.b.Helper()
	d.eachFile(".git/refs", func(string, fs.FileInfo) { count++ })
	return count
}

func (d *day) eachFile(root string, visit func(path string, info fs.FileInfo)) {
	d.b.Helper()
	require.NoError(d.b, filepath.WalkDir(filepath.Join(d.dir, root), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			visit(path, info)
		}
		return err
	}))
}

// lines returns lines of Claude Code's transcript about a call, of about a size in bytes.
func (d *day) lines(id string, size int) []byte {
	const frame = 2_000 // of the members around the texts of three lines
	words := max(100, size-frame)
	uuid := func() string {
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", d.text.random.Uint32(), d.text.random.IntN(1<<16), d.text.random.IntN(1<<12), d.text.random.IntN(1<<12), d.text.random.Uint64()>>16)
	}
	around := func(kind, message string) string {
		return fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"message":%s,"requestId":"req_%s","type":%q,"uuid":%q,"timestamp":"2026-11-22T12:43:%02d.%03dZ",`+
			`"userType":"external","entrypoint":"cli","cwd":"/home/user/project","sessionId":"a1e81805-14b9-4b34-8bad-6e547ad545b9","version":"2.1.330","gitBranch":"main"}`+"\n",
			uuid(), message, uuid(), kind, uuid(), d.calls%60, d.calls%1000)
	}
	usage := fmt.Sprintf(`"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"service_tier":"standard"}`,
		d.calls%9, d.calls*7%3000, d.calls*131, d.calls*17%900)
	said := fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"id":"msg_%s","model":"claude","role":"assistant","stop_reason":"tool_use",%s}`, quoted(d.text.say(words/10)), id, usage)
	// An edit names a part of the file twice, and its result has both once more, with the file. A command has an output.
	file, command := d.text.say(words*4/10), d.text.say(words/10)
	part := file[:len(file)/3]
	changed := d.text.say(words/20) + part
	input := fmt.Sprintf(`{"file_path":%q,"old_string":%s,"new_string":%s}`, d.file(d.calls%d.files), quoted(part), quoted(changed))
	tool, answer := "Edit", quoted("The file has been updated successfully.")
	details := fmt.Sprintf(`{"oldString":%s,"newString":%s,"originalFile":%s}`, quoted(part), quoted(changed), quoted(file))
	if d.calls%2 == 0 {
		tool, answer, input = "Bash", quoted(d.text.say(words*8/10)), fmt.Sprintf(`{"command":%s}`, quoted(command))
		details = `{"interrupted":false}`
	}
	call := fmt.Sprintf(`{"content":[{"id":%q,"input":%s,"name":%q,"type":"tool_use"}],"id":"msg_%s","model":"claude","role":"assistant",%s}`, id, input, tool, id, usage)
	result := fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s}],"toolUseResult":%s}`, id, answer, details)
	return []byte(around("assistant", said) + around("assistant", call) + around("user", result))
}

// quoted returns a text as JSON.
func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// text makes texts with as few words, as often, as a language has: the frequency of a word is about one over its rank.
type text struct {
	random *rand.Rand
	zipf   *rand.Zipf
	words  []string
}

func newText() *text {
	random := rand.New(rand.NewPCG(1, 2))
	const vocabulary, slope = 20_000, 1.1
	t := &text{random: random, zipf: rand.NewZipf(random, slope, 2.7, vocabulary-1)}
	parts := strings.Fields("re in er on an ti es al at st en or ing con ne ro com de ra le li ma de pro te ex se un able ment ion fi nd ta get set the of")
	for range vocabulary {
		var word strings.Builder
		for range 1 + random.IntN(3) {
			word.WriteString(parts[random.IntN(len(parts))])
		}
		t.words = append(t.words, word.String())
	}
	return t
}

// id returns random letters and digits, as ids of calls have.
func (t *text) id() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := make([]byte, 22)
	for i := range id {
		id[i] = letters[t.random.IntN(len(letters))]
	}
	return string(id)
}

// say returns a text of about a size in bytes, in lines.
func (t *text) say(size int) string {
	var b strings.Builder
	b.Grow(size)
	for column := 0; b.Len() < size; {
		word := t.words[t.zipf.Uint64()]
		b.WriteString(word)
		if column += len(word) + 1; column > 80 {
			b.WriteString(".\n\t")
			column = 0
			continue
		}
		b.WriteByte(' ')
	}
	return b.String()
}
