package dialect

import "path/filepath"

// Seat is a session that Resume has put where its agent finds it. The agent is to go on with it without a terminal.
type Seat struct {
	Session string
	Began   bool     // something was said before
	Heard   bool     // the agent was at work on the session already, and was interrupted
	Flags   []string // further flags for the agent
	Env     []string
}

// claudeHeadless is Headless of Claude Code.
func claudeHeadless(s Seat) ([]string, error) {
	option := "--session-id"
	if s.Began || s.Heard {
		option = "--resume"
	}
	return append([]string{Claude, "-p", option, s.Session}, s.Flags...), nil
}

// codexHeadless is Headless of Codex CLI.
func codexHeadless(s Seat) ([]string, error) {
	return append(append([]string{Codex, "exec"}, s.Flags...), "resume", s.Session, "-"), nil
}

// geminiHeadless is Headless of Gemini CLI, which needs no option: it reads its standard input if that is no terminal.
func geminiHeadless(s Seat) ([]string, error) {
	option := "--session-id"
	if s.Began || s.Heard {
		option = "--resume"
	}
	return append([]string{Gemini, option, s.Session}, s.Flags...), nil
}

// opencodeHeadless is Headless of opencode. The conversation is imported before the agent goes on with it the first time.
func opencodeHeadless(s Seat) ([]string, error) {
	if s.Heard {
		return append([]string{Opencode, "run", "--session", s.Session}, s.Flags...), nil
	}
	dir, err := opencodeFolder(s.Env, Opencode)
	if err != nil {
		return nil, err
	}
	const goOn = `opencode import "$1" </dev/null && session=$2 && shift 2 && exec opencode run --session "$session" "$@"`
	return append([]string{"sh", "-c", goOn, Opencode, filepath.Join(dir, s.Session+".json"), s.Session}, s.Flags...), nil
}

// piHeadless is Headless of pi, which finds a session of the current folder by its id.
func piHeadless(s Seat) ([]string, error) {
	return append([]string{Pi, "-p", "--session", s.Session}, s.Flags...), nil
}
