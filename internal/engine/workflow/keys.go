package workflow

// keyTable has the keys that a mapping of a workflow file may have. The parser, and the JSON Schema of workflow files for editors, are made from it.
type keyTable []key

// key is a key of a mapping.
type key struct {
	name  string
	value string // the value's JSON Schema: the name of a shape or of a mapping, or the schema itself
	about string // the meaning, as editors show it
}

// names returns the names of the keys.
func (t keyTable) names() []string {
	names := make([]string, len(t))
	for i, k := range t {
		names[i] = k.name
	}
	return names
}

var workflowKeys = keyTable{
	{"name", "id", "The workflow's name: letters, digits, _ . -, up to 100."},
	{"input", "schema", "A JSON Schema for the run's input, which is always an object."},
	{"outputs", `{"type":"object","propertyNames":{"pattern":"^[A-Za-z0-9_-]{1,100}$"},"additionalProperties":{"$ref":"#/definitions/schema"}}`, "Tables of outputs: the name of each, and the JSON Schema of its rows."},
	{"worktree", "worktree", "The worktree that the run's tasks share, in place of the working copy in which it is started."},
	{"scorers", "scorers", "Commands that give the results of every task with a command a number."},
	{"sandbox", "sandbox", "The sandbox of tasks with a command that name none."},
	{"env", "env", "Variables for every command of the file. A task's own env wins."},
	{"defaults", "defaults", "Values for tasks with a command that do not set their own."},
	{"tasks", "tasks", "Tasks and loops, in any order."},
}

var taskKeys = keyTable{
	{"id", "id", "The task's name. Tasks and loops share one set of names."},
	{"run", "text", "The command, for sh -e, in the top folder of the working copy. It ends at the first line that fails."},
	{"workflow", "text", "A workflow file to run in place of a command, relative to the folder of this file."},
	{"approval", "approval", "A question that a person answers with yes or no."},
	{"wait_for", "wait_for", "The signal that the task waits for."},
	{"human", "human", "A question to people. Its output is the answer."},
	{"timer", "timer", "A duration such as 90m, or a time with its zone."},
	{"output", "text", "The table under outputs that the task's output goes to."},
	{"needs", "texts", "Ids of tasks and loops that must be done first."},
	{"when", "text", "A condition. If it does not hold, the task is skipped."},
	{"retries", "retries", "How many more attempts a failed one gets, 0 to 100, or a mapping with pauses."},
	{"timeout", "duration", "With run and workflow: the limit of one attempt, such as 90s or 10m."},
	{"continue-on-error", "bool", "true: if the task fails after its retries, the run goes on."},
	{"label", "text", "The name that people see."},
	{"shell", "shell", "With run: the program that runs the command in place of sh -e."},
	{"cwd", "cwd", "With run: the folder in which the command runs, from the top of the working copy."},
	{"env", "env", "With run: variables for the command."},
	{"model", "text", "With run: the model that the command is to use, as SMITHERS_MODEL."},
	{"tools", "tools", "With run: the tools that the command is to use, as SMITHERS_TOOLS."},
	{"matrix", "matrix", "With run: axes and their values. The task is one task for each combination."},
	{"fail-fast", "bool", "With matrix: false lets the other cells start although one has failed."},
	{"with", "with", "With workflow: the members of the called run's input, as expressions."},
	{"worktree", "worktree", "With run: a worktree of its own."},
	{"cache", "cache", "With run: true, or a mapping: an equal task need not run again."},
	{"files", "files", "With run: none says that the command changes no files."},
	{"scorers", "scorers", "With run: commands that give its results a number."},
	{"sandbox", "sandbox", "With run: the limits of the command."},
}

var loopKeys = keyTable{
	{"loop", "id", "The loop's id."},
	{"until", "text", "A condition, evaluated after every iteration, that ends the loop."},
	{"max", `{"type":["integer","string"],"minimum":1,"maximum":10000,"pattern":"^[0-9]+$"}`, "How many iterations at most, 1 to 10,000."},
	{"on_max", `{"enum":["fail","finish"]}`, "What reaching max does: fail fails the run, finish ends the loop."},
	{"tasks", "tasks", "The tasks of the loop, and loops in it."},
}

// defaultKeys are the keys of a task that have defaults.
var defaultKeys = []string{"model", "tools", "shell", "cwd", "timeout", "retries"}

var scorerKeys = keyTable{
	{"name", "id", "The scorer's name in scores."},
	{"run", "text", "The command. It prints the score."},
	{"rate", `{"type":["number","string"],"minimum":0,"maximum":1}`, "The part of the attempts that it scores, from 0 to 1."},
	{"gate", `{"type":"string","pattern":"^\\s*(>=|<=|==|!=|>|<)\\s*[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?\\s*$"}`, "What the score must be for the attempt to finish, such as \">= 0.8\"."},
	{"timeout", "duration", "How long the scorer may run. Default: 5m."},
}

// mappings are the values of keys that may be mappings.
var mappings = []struct {
	name  string // of the key
	short string // the JSON Schema of the value in place of a mapping
	rules string // more members of the mapping's JSON Schema
	keys  keyTable
}{
	{"retries", `{"$ref":"#/definitions/retryCount"}`, `,"required":["max"],"dependencies":{"jitter":["backoff"]}`, keyTable{
		{"max", "retryCount", "How many more attempts, 0 to 100."},
		{"backoff", "duration", "The pause after the first failure, at most 5m. It doubles after each further one."},
		{"jitter", `{"type":["number","string"],"minimum":0,"maximum":1}`, "The largest part of a pause by which it varies, from 0 to 1."},
	}},
	{"approval", `{"type":"string","pattern":"\\S"}`, "", keyTable{
		{"title", "text", "The question. It may have placeholders, such as {input.ticket}."},
		{"summary", "text", "More about the question."},
		{"on_deny", "otherwise", "What a no does: fail, continue or skip."},
	}},
	{"wait_for", `{"type":"string","pattern":"\\S"}`, `,"required":["signal"],"dependencies":{"on_timeout":["timeout"]}`, keyTable{
		{"signal", "text", "The name of the signal."},
		{"correlation", `{"anyOf":[{"type":"null"},{"$ref":"#/definitions/text"}]}`, "The correlation id that the signal must have. null: it must have none."},
		{"timeout", "duration", "How long it waits. Default: for ever."},
		{"on_timeout", "otherwise", "What no signal does: fail, continue or skip."},
	}},
	{"human", `{"type":"string","pattern":"\\S"}`, `,"required":["prompt"],"dependencies":{"on_timeout":["timeout"]}`, keyTable{
		{"prompt", "text", "The question. It may have placeholders, such as {input.ticket}."},
		{"form", "schema", "A JSON Schema for the answer. Default: that of the task's output, or else any text."},
		{"timeout", "duration", "How long it can be answered. Default: for ever."},
		{"on_timeout", "otherwise", "What no answer does: fail, continue or skip."},
	}},
	{"worktree", `{"const":true}`, "", keyTable{
		{"path", "text", "Its folder. {run} and {task} stand for the ids."},
		{"branch", "text", "A branch that is made there, or set to base. {run} and {task} stand for the ids."},
		{"base", "text", "Where it starts. Default: main."},
		{"setup", "text", "A command that runs once in the new worktree, before its tasks. Default: smithers.worktree.setup."},
	}},
	{"cache", `{"type":"boolean"}`, `,"not":{"required":["files","paths"]}`, keyTable{
		{"by", "texts", "Expressions whose values are compared in place of all that the command is given."},
		{"version", "text", "Any text. Change it when something has changed that is not compared."},
		{"ttl", "duration", "How long a result may be used, such as 24h. Default: for ever."},
		{"files", "files", "none: the files are not compared."},
		{"paths", "texts", "Files and folders that are compared, in place of all."},
	}},
	{"sandbox", `{"type":"boolean"}`, "", keyTable{
		{"network", `{"enum":["on","off",true,false]}`, "on: the machine's network. Default: off."},
		{"write", "texts", "Paths that it may also write."},
		{"read", "texts", "Paths that it may also read."},
		{"env", `{"type":"array","items":{"$ref":"#/definitions/variable"}}`, "Names of more variables that it gets."},
		{"memory", `{"type":["integer","string"],"pattern":"^[0-9]+[kKmMgGtT]?[bB]?$"}`, "Bytes, such as 512m or 2g."},
		{"processes", `{"type":["integer","string"],"minimum":1,"maximum":1000000,"pattern":"^[0-9]+$"}`, "Processes at a time."},
		{"cpu", `{"type":["number","string"],"minimum":0.01,"maximum":10000}`, "Processors' worth of time, such as 1.5."},
	}},
}
