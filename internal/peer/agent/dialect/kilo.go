package dialect

import "strings"

// Kilo is the name of Kilo's command line.
const Kilo = "kilo"

// kilo is how Kilo's command line speaks. It is a fork of opencode, with folders and a command of its own.
var kilo = Dialect{
	Name: Kilo, Parse: parseOpencode, Read: readOpencode, Resume: resumeOpencodeAs(Kilo), NewSession: newOpencodeSession,
	WithoutImages: slimOpencode, NamesFiles: true, Variable: "KILO",
	Hooks: &Hooks{
		File: ".kilo/plugin/git-smithers.js", User: UserFile{"XDG_CONFIG_HOME", ".config", "kilo/plugin/git-smithers.js"},
		Program: strings.ReplaceAll(opencodeProgram, Opencode, Kilo),
	},
}
