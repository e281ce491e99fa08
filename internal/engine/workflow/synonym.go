package workflow

import (
	"slices"
	"strconv"
	"strings"
)

// extension begins the keys at the top of a file that are ignored.
const extension = "x-"

// synonyms are words that other programs have for a key: in lower case, with - for _. If more is not "", it is what a person must know beside the key. A synonym
// without a key has no key here.
var synonyms = []struct{ key, words, more string }{
	{"when", "if condition cond only-if", ""},
	{"needs", "depends-on dependson dependencies deps after requires", ""},
	{"retries", "retry max-retries max-attempts attempts", "which counts the attempts after the first"},
	{"timeout", "timeout-minutes timeout-seconds timeout-ms timeoutms time-limit", "with its unit, such as timeout: 10m"},
	{"run", "cmd command script exec bash sh", ""},
	{"cwd", "dir working-directory workingdirectory workdir directory folder", ""},
	{"env", "env-vars envvars environment variables vars", ""},
	{"continue-on-error", "on-error onerror allow-failure ignore-errors", "so that the run goes on, or add a task with when: failed()"},
	{"matrix", "strategy", "with the axes in it"},
	{"workflow", "uses call", "with the path of a workflow file: actions of GitHub do not run here"},
	{"approval", "approve gate manual", ""},
	{"wait_for", "signal event waitfor", ""},
	{"human", "ask question prompt", ""},
	{"timer", "sleep delay wait", ""},
	{"label", "name title description", "for people, beside an id"},
	{"tasks", "jobs steps stages", "a list of tasks with an id each"},
	{"max", "max-iterations maxiterations times count", ""},
	{"until", "while", "which ends the loop when it holds"},
	{"", "on schedule cron", "`git smithers cron add` starts runs at set times"},
	{"", "loops ralph parallel sequence", "a loop is an entry of tasks: - {loop: review, until: …, max: 5, tasks: […]}. Tasks without needs run side by side"},
}

// suggestKey returns the hint for an unknown key: the key that means what other programs call so, or else the hint of suggest.
func suggestKey(word string, known []string) string {
	if strings.HasPrefix(word, extension) {
		return "keys that begin with x- can stand only at the top of the file"
	}
	plainWord := strings.ReplaceAll(strings.ToLower(word), "_", "-")
	for _, s := range synonyms {
		switch {
		case !slices.Contains(strings.Fields(s.words), plainWord) || s.key != "" && !slices.Contains(known, s.key):
		case s.key == "":
			return s.more
		case s.more == "":
			return "did you mean " + strconv.Quote(s.key) + "?"
		default:
			return "write " + strconv.Quote(s.key) + ", " + s.more
		}
	}
	return suggest(word, known)
}
