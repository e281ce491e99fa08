package workflow

import (
	"cmp"
	"slices"
	"strings"
)

// extension begins the keys at the top of a file that are ignored.
const extension = "x-"

// synonyms are words that other programs have for a key: in lower case, with - for _. Without a hint, the hint names the key. A synonym without a key has no key
// here.
var synonyms = []struct{ key, words, hint string }{
	{"when", "if condition cond only-if", ""},
	{"needs", "depends-on dependson dependencies deps after requires", ""},
	{"retries", "retry max-retries max-attempts attempts", `write "retries", which counts the attempts after the first`},
	{"timeout", "timeout-minutes timeout-seconds timeout-ms timeoutms time-limit", `write "timeout", with its unit, such as timeout: 10m`},
	{"run", "cmd command script exec bash sh", ""},
	{"cwd", "dir working-directory workingdirectory workdir directory folder", ""},
	{"env", "env-vars envvars environment variables vars", ""},
	{"continue-on-error", "on-error onerror allow-failure ignore-errors", `write "continue-on-error", so that the run goes on, or add a task with when: failed()`},
	{"matrix", "strategy", `write "matrix", with the axes in it`},
	{"workflow", "uses call", `write "workflow", with the path of a workflow file: actions of GitHub do not run here`},
	{"approval", "approve gate manual", ""},
	{"wait_for", "signal event waitfor", ""},
	{"human", "ask question prompt", ""},
	{"timer", "sleep delay wait", ""},
	{"label", "name title description", `write "label", for people, beside an id`},
	{"tasks", "jobs steps stages", `write "tasks", a list of tasks with an id each`},
	{"max", "max-iterations maxiterations times count", ""},
	{"until", "while", `write "until", which ends the loop when it holds`},
	{"run", "steps", `a task has one command: write "run", or a task for each step`},
	{"", "on schedule cron", "leave it out: `git smithers run` starts a run, and `git smithers cron add` starts runs at set times"},
	{"", "runs-on container image services permissions", "leave it out: commands run on this machine, with your rights"},
	{"", "secrets", "leave it out: commands have the variables of your environment"},
	{"", "concurrency parallelism max-parallel", "leave it out: `git smithers run --max-parallel N` limits how many tasks run side by side"},
	{"", "loops ralph parallel sequence", "a loop is an entry of tasks: - {loop: review, until: …, max: 5, tasks: […]}. Tasks without needs run side by side"},
}

// suggestKey returns the hint for an unknown key: the key that means what other programs call so, or else the hint of suggest.
func suggestKey(word string, known []string) string {
	if strings.HasPrefix(word, extension) {
		return "keys that begin with x- can stand only at the top of the file"
	}
	plainWord := strings.ReplaceAll(strings.ToLower(word), "_", "-")
	for _, s := range synonyms {
		if slices.Contains(strings.Fields(s.words), plainWord) && (s.key == "" || slices.Contains(known, s.key)) {
			return cmp.Or(s.hint, `did you mean "`+s.key+`"?`)
		}
	}
	return suggest(word, known)
}
