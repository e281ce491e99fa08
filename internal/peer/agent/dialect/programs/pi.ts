// This extension records the sessions of pi in this working copy: it hands each prompt, batch of tool calls and answer to git-smithers.
// `git smithers session enable pi` wrote the file, and `git smithers session disable pi` removes it. Without git-smithers it does nothing.

import { spawn } from "node:child_process"

const longest = 30_000 // milliseconds, after which a hook is given up
const patience = 10_000 // milliseconds, for which a prompt or the end of a session waits for the hooks before
const readers = new Set(["read", "grep", "find", "ls"])

// send runs the hook of an event. It resolves when the hook has ended, however it ended.
function send(event: string, folder: string, input: object): Promise<void> {
  return new Promise((resolve) => {
    try {
      const hook = spawn("git-smithers", ["session", "hook", "pi", event], { cwd: folder, stdio: ["pipe", "ignore", "ignore"], windowsHide: true })
      // The option timeout of spawn would keep pi from exiting where git-smithers is not installed.
      const timer = setTimeout(() => hook.kill("SIGKILL"), longest)
      const ended = () => {
        clearTimeout(timer)
        resolve()
      }
      hook.on("error", ended) // git-smithers is not installed
      hook.on("exit", ended)
      hook.stdin.on("error", () => {})
      hook.stdin.end(JSON.stringify(input))
    } catch {
      resolve()
    }
  })
}

// textOf returns the texts in the content of a message.
function textOf(content: any): string {
  if (typeof content === "string") return content
  return content.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n")
}

export default function (pi: any) {
  // The same extension can be in the user's own folder and in the working copy: the first one records.
  const own = import.meta.url.split("?")[0]
  if (((globalThis as any)[Symbol.for("git-smithers session")] ??= own) !== own) return
  let last: Promise<void> = Promise.resolve() // the newest hook: hooks run one after the other
  let answered: Promise<void> = Promise.resolve() // all hooks up to the answer to the newest prompt
  let answer = () => {} // resolves answered

  // catchUp waits for the hooks up to the answer to the newest prompt. pi itself does not wait for them.
  async function catchUp(): Promise<void> {
    let timer: any
    await Promise.race([answered, new Promise<void>((resolve) => (timer = setTimeout(resolve, patience)))])
    clearTimeout(timer)
  }

  // hook returns a handler. inputOf returns what the hook of an event is told, or nothing if the event has no hook. A session without
  // a file is not recorded: pi was told not to keep it.
  function hook(event: string, inputOf: (ev: any, ctx: any) => object | undefined | Promise<object | undefined>) {
    return async (ev: any, ctx: any): Promise<void> => {
      try {
        const of = ctx.sessionManager
        const where = { session: of.getSessionId(), event, cwd: ctx.cwd, transcript: of.getSessionFile() }
        const more = where.transcript && (await inputOf(ev, ctx))
        if (!more) return
        last = last.then(() => send(event, where.cwd, { ...where, ...more }))
        await last
      } catch {
        // pi goes on as if there were no hook
      }
    }
  }

  pi.on("session_start", hook("start", (ev) => (ev.reason === "reload" ? undefined : {})))

  // The message of a prompt begins when the prompt reaches the conversation. The event "input" comes earlier, for a prompt that is sent
  // while pi works.
  pi.on("message_start", hook("prompt", (ev) => (ev.message.role === "user" ? { prompt: textOf(ev.message.content) } : undefined)))
  pi.on("before_agent_start", async () => {
    await catchUp()
    answered = new Promise((resolve) => (answer = resolve))
  })

  // pi does not wait for the handlers of turn_end. But if there is a handler of tool_call, each tool call waits for all handlers
  // before, so that no call changes the files while a hook captures them.
  pi.on("tool_call", () => undefined)

  // At the end of a turn, the file of the session has the results of the whole batch.
  pi.on("turn_end", hook("tool", (ev) => {
    const tools = ev.toolResults.map((result: any) => ({
      id: result.toolCallId, name: result.toolName, failed: result.isError, readOnly: readers.has(result.toolName),
    }))
    return tools.every((tool: any) => tool.readOnly) ? undefined : { tools }
  }))

  // pi tries again after an error, and an interrupted answer is none.
  const atAnswer = hook("answer", (ev) => {
    const message = ev.messages.findLast((m: any) => m.role === "assistant")
    if (!message || message.stopReason === "error" || message.stopReason === "aborted") return undefined
    return { answer: textOf(message.content) }
  })
  pi.on("agent_end", async (ev: any, ctx: any) => {
    await atAnswer(ev, ctx)
    answer()
  })

  pi.on("session_before_compact", hook("compact", () => ({})))

  pi.on("session_shutdown", hook("end", async (ev, ctx) => {
    if (ev.reason === "reload") return undefined
    if (ctx.isIdle()) await catchUp()
    return {}
  }))
}
