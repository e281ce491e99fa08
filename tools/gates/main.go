// Command gates fails if this version takes more CPU than docs/benchmarks.md promises. Each gate runs a command of git-smithers by turns with
// another program, and compares the medians of the CPU of all processes, so that the load of the machine counts for both. A gate that
// fails is measured once more before it says so. TURNS is the number of turns; 9 by default. It runs in the folder of the repository.
//
//	go run ./tools/gates BINARY [NAME…]
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// gate is a limit of the CPU of ours, divided by times, in that of peer. Both are commands of sh. If there are starts, their CPU does not count:
// they do the same without the work.
type gate struct {
	name                   string
	limit                  float64
	times                  float64
	ours, peer             string
	oursStarts, peerStarts string
}

// prepare makes what the gates need in an empty folder: hello, a program that says hello; long and short, repositories with a run of 20,000 and of 50
// frames; and the input of 1,000 captures that each change one of 100 rows. The log of calls needs the client in clients/langgraph, built.
const prepare = `
set -eu
printf 'package main\n\nfunc main() { println("hello") }\n' >hello.go
CGO_ENABLED=0 go build -o hello hello.go
captures() {
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "{\"worktree\":false,\"changes\":[{\"op\":\"set\",\"collection\":\"loops\",\"key\":\"l%d\",\"value\":{\"iteration\":%d,\"done\":false}}]}\n", i % 100, i
	}'
}
for repository in long short burst; do
	git init -q "$repository"
	git -C "$repository" -c user.name=gates -c user.email=gates@example.invalid commit -q --allow-empty -m begin
done
(cd long && captures 20000 | "$GS" capture r --batch >/dev/null && "$GS" runs >/dev/null)
(cd short && captures 50 | "$GS" capture r --batch >/dev/null && "$GS" runs >/dev/null)
captures 1000 >captures
`

const capture = `echo '{"worktree":false,"changes":[]}' | "$GS" capture r >/dev/null`

var gates = []gate{
	{"timeline", 1.3, 1, `cd long && "$GS" timeline r --limit 10 >/dev/null`, `cd short && "$GS" timeline r --limit 10 >/dev/null`, "", ""},
	{"capture", 1.3, 1, `cd long && ` + capture, `cd short && ` + capture, "", ""},
	{"burst", 0.45, 1000, `cd burst && GIT_SMITHERS_FSYNC=0 "$GS" capture "r$$" --batch <../captures >/dev/null`, `./hello 2>/dev/null`, "", ""},
	{"burst-durable", 0.8, 1000, `cd burst && "$GS" capture "r$$" --batch <../captures >/dev/null`, `./hello 2>/dev/null`, "", ""},
	threads("1k", 4),
	threads("50k", 3),
	threads("1m", 0.8),
	threads("append", 1.9),
}

// threads returns the gate of a shape of bench/bench.mjs.
func threads(shape string, limit float64) gate {
	return gate{
		"langgraph-" + shape, limit, 1, saver("git", shape, "400"), saver("sqlite", shape, "400"), saver("git", shape, "1"), saver("sqlite", shape, "1"),
	}
}

// saver returns the command that puts checkpoints, and makes the folder for them. tools/bench-langgraph.sh has made the folders of the savers.
func saver(kind, shape, steps string) string {
	return `rm -rf data && git init -q data && git -C data -c user.name=gates -c user.email=gates@example.invalid commit -q --allow-empty -m begin &&
		BENCH=puts GIT_SMITHERS=$GS node "` + kind + `/bench.mjs" ` + kind + ` ` + shape + ` ` + steps + ` "$PWD/data" >/dev/null`
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: gates BINARY [NAME…]")
	}
	binary, err := filepath.Abs(os.Args[1])
	check(err)
	check(os.Setenv("GS", binary))
	dir, err := os.MkdirTemp("", "gates")
	check(err)
	failed := false
	savers := command(".", `BENCH_INTO="`+dir+`" tools/bench-langgraph.sh "$GS"`).Run() == nil
	cpu(dir, prepare)
	for _, g := range gates {
		switch saves := g.oursStarts != ""; {
		case len(os.Args) > 2 && !slices.Contains(os.Args[2:], g.name):
		case saves && !savers:
			fmt.Printf("%-18s left out: there is no node, or no SqliteSaver\n", g.name)
		default:
			failed = !g.holds(dir) || failed
		}
	}
	check(os.RemoveAll(dir))
	if failed {
		os.Exit(1)
	}
}

// holds measures a gate, twice if the first time is above its limit, and prints the result.
func (g gate) holds(dir string) bool {
	ratio := g.measure(dir)
	if ratio > g.limit {
		ratio = min(ratio, g.measure(dir))
	}
	said := map[bool]string{true: "ok", false: "FAILED"}[ratio <= g.limit]
	fmt.Printf("%-18s %6.2f of at most %.2f  %s\n", g.name, ratio, g.limit, said)
	return ratio <= g.limit
}

// measure runs both commands by turns, after a turn that does not count, and returns the ratio of the medians.
func (g gate) measure(dir string) float64 {
	turns, err := strconv.Atoi(os.Getenv("TURNS"))
	if err != nil {
		turns = 9
	}
	var ours, peer []time.Duration
	for turn := range turns + 1 {
		a, b := cpu(dir, g.ours)-cpu(dir, g.oursStarts), cpu(dir, g.peer)-cpu(dir, g.peerStarts)
		if turn > 0 {
			ours, peer = append(ours, a), append(peer, b)
		}
	}
	return float64(median(ours)) / g.times / float64(median(peer))
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// cpu runs a command of sh and returns the CPU of it and of the processes that it has waited for.
func cpu(dir, script string) time.Duration {
	if script == "" {
		return 0
	}
	cmd := command(dir, script)
	check(cmd.Run())
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

func command(dir, script string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return cmd
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, "gates:", text)
	os.Exit(1)
}
