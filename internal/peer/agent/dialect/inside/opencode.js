// git smithers session: the commands /rewind-files, /what-if, /checkpoint and /timeline of git-smithers, for opencode.
// `git smithers session enable opencode --commands` wrote this file, and `git smithers session disable opencode` removes it.
//
// A command that is a Markdown file would not do: opencode puts the words into the text, and then runs each !`…` in it, also one that a
// person has typed. So the templates here swallow the words, and this plugin hands them to git-smithers: as one argument each, or on
// standard input. No shell reads them.
import { spawn } from "node:child_process"

/** smithers runs git-smithers, and returns what it printed and whether it succeeded. */
function smithers(cwd, args, text = "") {
  return new Promise((done) => {
    let said = ""
    const child = spawn("git-smithers", args, { cwd, stdio: ["pipe", "pipe", "pipe"], windowsHide: true })
    for (const out of [child.stdout, child.stderr]) out.setEncoding("utf8").on("data", (data) => (said += data))
    child.on("error", () => done({ ok: false, said: "git-smithers is not on PATH" }))
    child.on("close", (status) => done({ ok: status === 0, said: said.trim() }))
    child.stdin.on("error", () => {})
    child.stdin.end(text)
  })
}

const commands = {
  timeline: {
    description: "Show the steps of this session",
    work: (cwd, run) => smithers(cwd, ["timeline", run]),
    then: "Show these steps, unchanged, in a code block. /rewind-files and the number of a turn take the files back to just before the turn.",
  },
  checkpoint: {
    description: "Keep this moment of the session, so that its files can come back",
    work: (cwd, run, words) => smithers(cwd, ["session", "checkpoint", run, ...(words ? ["-m", "-"] : [])], words),
    then: "Say in one line which frame was made. Do nothing else.",
  },
  "rewind-files": {
    description: "Take the files of the working copy back to just before a turn of this session",
    work: (cwd, run, words) => (/^\d+$/.test(words) ? smithers(cwd, ["restore", `${run}@turn:${words}`]) : smithers(cwd, ["timeline", run])),
    then: `Show this: the files that changed, and the command that brings the files of before back. If it lists the steps of the session
instead, ask for the number of a turn, and say that /rewind-files and the number take the files back to just before the turn. If it
refuses because new files are in the way, name them and ask; only if the person says yes, run the command that it names. The files are
older now than what you remember of them: read a file again before you edit it.`,
  },
  "what-if": {
    description: "Try another prompt from an earlier turn of this session, in a folder of its own",
    work: (cwd, run, words) => {
      const [, turn, prompt] = /^(\d+)\s+([^]+)$/.exec(words) ?? []
      return prompt ? smithers(cwd, ["session", "what-if", `${run}:turn:${turn}`, "-", "--no-start"], prompt) : smithers(cwd, ["timeline", run])
    },
    then: `Show this. If it ends with a command that starts the agent on another course, the person can run it in another terminal: do not
run it yourself. If it lists the steps of the session instead, say that /what-if takes the number of a turn and another prompt.`,
  },
}

// A template with a numbered argument gets none of the words after it, and this number is above that of any word.
const swallow = "$99999"

/** GitSmithersCommands is the plugin. */
export const GitSmithersCommands = async ({ directory }) => {
  // The same plugin can be in the user's own folder and in the repository: the first one has the commands.
  const first = (globalThis[Symbol.for("git-smithers commands")] ??= {})
  const own = import.meta.url.split("?")[0]
  if ((first[directory] ??= own) !== own) return {}
  const ours = new Set()
  return {
    config: async (config) => {
      config.command ??= {}
      for (const [name, { description }] of Object.entries(commands)) {
        if (config.command[name]) continue // a command of the person's own
        config.command[name] = { template: `git smithers ${name} ${swallow}`, description }
        ours.add(name)
      }
    },
    "command.execute.before": async ({ command, sessionID, arguments: words }, { parts }) => {
      if (!ours.has(command)) return
      const { said, ok } = await commands[command].work(directory, "opencode-" + sessionID, words.trim())
      const text = `The person called /${command}. git-smithers ${ok ? "has done it, and says" : "refused, and says"}:\n\n${said}\n\n${commands[command].then}`
      parts.splice(0, parts.length, { type: "text", text })
    },
  }
}
