// The commands /rewind-files, /what-if, /checkpoint and /timeline of git-smithers, for pi.
// `git smithers session enable pi --commands` wrote the file, and `git smithers session disable pi` removes it.
//
// No shell reads what a person types: git-smithers gets each argument as one word, and free text on standard input.

import { spawn } from "node:child_process"

// smithers runs git-smithers, and returns what it printed and whether it succeeded.
function smithers(folder: string, args: string[], text = ""): Promise<{ ok: boolean; said: string }> {
  return new Promise((resolve) => {
    let said = ""
    const child = spawn("git-smithers", args, { cwd: folder, stdio: ["pipe", "pipe", "pipe"], windowsHide: true })
    for (const out of [child.stdout, child.stderr]) out.setEncoding("utf8").on("data", (data: string) => (said += data))
    child.on("error", () => resolve({ ok: false, said: "git-smithers is not on PATH" }))
    child.on("close", (status) => resolve({ ok: status === 0, said: said.trim() }))
    child.stdin.on("error", () => {})
    child.stdin.end(text)
  })
}

export default function (pi: any) {
  // The same extension can be in the user's own folder and in the working copy: the first one has the commands.
  const own = import.meta.url.split("?")[0]
  if (((globalThis as any)[Symbol.for("git-smithers commands")] ??= own) !== own) return

  // command adds a command. work returns what the command says: the person sees it, and the model reads it with the next prompt.
  function command(name: string, description: string, work: (words: string, run: string, ctx: any) => Promise<string>) {
    pi.registerCommand(name, {
      description,
      handler: async (words: string, ctx: any) => {
        const said = await work(words.trim(), "pi-" + ctx.sessionManager.getSessionId(), ctx)
        pi.sendMessage({ customType: "git-smithers", content: `/${name}\n${said}`, display: true })
      },
    })
  }
  const steps = async (run: string, ctx: any, usage: string) => `${(await smithers(ctx.cwd, ["timeline", run])).said}\n\n${usage}`

  command("timeline", "Show the steps of this session", async (_words, run, ctx) => (await smithers(ctx.cwd, ["timeline", run])).said)

  command("checkpoint", "Keep this moment of the session, so that its files can come back", async (words, run, ctx) => {
    const label = words ? ["-m", "-"] : []
    return (await smithers(ctx.cwd, ["session", "checkpoint", run, ...label], words)).said
  })

  command("rewind-files", "Take the files of the working copy back to just before a turn of this session", async (words, run, ctx) => {
    if (!/^\d+$/.test(words)) return steps(run, ctx, "Type /rewind-files and the number of a turn.")
    const restore = ["restore", `${run}@turn:${words}`]
    let done = await smithers(ctx.cwd, restore)
    if (!done.ok && ctx.hasUI && done.said.includes("--yes") && (await ctx.ui.confirm("Save and remove these files?", done.said)))
      done = await smithers(ctx.cwd, [...restore, "--yes"])
    return done.ok ? `${done.said}\nThe files are older now than what was read of them before.` : done.said
  })

  command("what-if", "Try another prompt from an earlier turn of this session, in a folder of its own", async (words, run, ctx) => {
    const [, turn, prompt] = /^(\d+)\s+([^]+)$/.exec(words) ?? []
    if (!prompt) return steps(run, ctx, "Type /what-if, the number of a turn, and another prompt.")
    const done = await smithers(ctx.cwd, ["session", "what-if", `${run}:turn:${turn}`, "-", "--no-start"], prompt)
    return done.ok ? `${done.said}\nRun this command in another terminal.` : done.said
  })
}
