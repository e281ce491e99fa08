// git smithers session: this plugin records the sessions of opencode in this repository.
//
// It tells git-smithers of each prompt, each tool call and each answer, so that git-smithers keeps the files of that moment. It also
// keeps the conversation as a file that only you can read: $XDG_DATA_HOME/opencode/git-smithers/<session>.jsonl. It sends nothing
// anywhere, and does nothing if git-smithers is not installed.
//
// `git smithers session disable opencode` removes this file.
import { spawn } from "node:child_process"
import { accessSync, appendFileSync, constants, existsSync, mkdirSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"

const hookMs = 30_000 // the longest time that a hook can take
const askMs = 5_000 // the longest time that opencode can take to answer

/** isInstalled reports whether git-smithers is on PATH. */
function isInstalled() {
  return (process.env.PATH ?? "").split(delimiter).some((dir) => {
    try {
      accessSync(join(dir, process.platform === "win32" ? "git-smithers.exe" : "git-smithers"), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** runHook runs git-smithers with an event. It ends after hookMs at the latest, and never fails. */
function runHook(cwd, event, input) {
  return new Promise((done) => {
    try {
      const child = spawn("git-smithers", ["session", "hook", "opencode", event], { cwd, stdio: ["pipe", "ignore", "ignore"], windowsHide: true })
      const timer = setTimeout(() => {
        child.kill()
        done()
      }, hookMs)
      const end = () => {
        clearTimeout(timer)
        done()
      }
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(input))
    } catch {
      done()
    }
  })
}

/** within returns the promise's value, or undefined if it fails or takes longer than ms. */
function within(promise, ms) {
  let timer
  const late = new Promise((done) => {
    timer = setTimeout(done, ms)
  })
  return Promise.race([promise, late]).catch(() => undefined).finally(() => clearTimeout(timer))
}

/** quietly calls f, and swallows its errors: opencode must not see them. */
function quietly(f) {
  return async (...args) => {
    try {
      await f(...args)
    } catch {}
  }
}

/** isComplete reports whether a part of a message will not change any more. */
function isComplete(part, role) {
  if (part.type === "tool") return part.state?.status === "completed" || part.state?.status === "error"
  if (part.type === "text" || part.type === "reasoning") return role === "user" || !part.time || part.time.end !== undefined
  return true
}

/** Transcript is the file with the conversation of a session. */
class Transcript {
  constructor(session) {
    const dir = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode", "git-smithers")
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    this.path = join(dir, session + ".jsonl")
    this.isNew = !existsSync(this.path)
    this.written = new Map() // the newest line of each id
    this.roles = new Map() // of messages, by their ids
    this.answer = ""
  }

  write(id, line) {
    const text = JSON.stringify(line)
    if (this.written.get(id) === text) return
    appendFileSync(this.path, text + "\n", { mode: 0o600 })
    this.written.set(id, text)
  }

  session(info) {
    const { id, slug, projectID, directory, version, title } = info
    this.write(id, { type: "session", info: { id, slug, projectID, directory, version, title, time: { created: info.time?.created } } })
  }

  message(info) {
    this.roles.set(info.id, info.role)
    if (info.role === "assistant" && !info.time?.completed && this.written.has(info.id)) return
    if (info.role === "user") {
      const { summary, ...rest } = info // opencode counts the changed lines there, again and again
      info = Object.fromEntries(Object.entries(rest).sort())
    }
    this.write(info.id, { type: "message", info })
  }

  part(part) {
    const role = this.roles.get(part.messageID)
    if (!isComplete(part, role)) return
    if (role === "assistant" && part.type === "text" && part.text) this.answer = part.text
    this.write(part.id, { type: "part", role, part })
  }
}

/** GitSmithers is the plugin. */
export const GitSmithers = async ({ client, directory }) => {
  if (!isInstalled()) return {}
  // The same plugin can be in the user's own folder and in the repository: the first one records.
  const first = (globalThis[Symbol.for("git-smithers session")] ??= {})
  const own = import.meta.url.split("?")[0]
  if ((first[directory] ??= own) !== own) return {}
  const parents = new Map() // the parent of each session that is known; undefined for a session of the user
  const transcripts = new Map()
  const open = new Set() // sessions that have a prompt without an answer
  let queue = Promise.resolve()

  const transcript = (session) => {
    if (!transcripts.has(session)) transcripts.set(session, new Transcript(session))
    return transcripts.get(session)
  }
  // send runs the hooks one after the other. It waits for its own hook, but not longer than hookMs.
  const send = (session, event, more) => {
    const input = { session, event, cwd: directory, transcript: transcript(session).path, ...more }
    queue = queue.then(() => runHook(directory, event, input))
    return within(queue, hookMs)
  }
  const ask = async (promise) => (await within(promise, askMs))?.data
  // meet learns of a session that this process did not begin.
  const meet = async (session) => {
    if (!parents.has(session)) {
      const info = await ask(client.session.get({ path: { id: session } }))
      parents.set(session, info?.parentID)
      if (info && !info.parentID) transcript(session).session(info)
    }
    if (parents.get(session)) return
    const to = transcript(session)
    if (!to.isNew) return
    to.isNew = false
    for (const { info, parts } of (await ask(client.session.messages({ path: { id: session } }))) ?? []) {
      to.message(info)
      for (const part of parts) to.part(part)
    }
  }
  // root returns the session of the user that a session belongs to.
  const root = (session) => {
    while (parents.get(session)) session = parents.get(session)
    return session
  }

  const events = {
    "session.created": ({ info }) => {
      parents.set(info.id, info.parentID)
      if (!info.parentID) transcript(info.id).session(info)
    },
    "session.updated": ({ info }) => {
      if (!info.parentID && transcripts.has(info.id)) transcript(info.id).session(info)
    },
    "message.updated": ({ info }) => {
      if (transcripts.has(info.sessionID)) transcript(info.sessionID).message(info)
    },
    "message.part.updated": ({ part }) => {
      if (transcripts.has(part.sessionID)) transcript(part.sessionID).part(part)
    },
    "message.removed": ({ sessionID, messageID }) => {
      if (transcripts.has(sessionID)) transcript(sessionID).write(messageID, { type: "message.removed", messageID })
    },
    "message.part.removed": ({ sessionID, messageID, partID }) => {
      if (transcripts.has(sessionID)) transcript(sessionID).write(partID, { type: "part.removed", messageID, partID })
    },
    "session.idle": ({ sessionID }) => {
      if (parents.get(sessionID)) return send(root(sessionID), "subagent", { subagent: sessionID })
      if (open.delete(sessionID)) return send(sessionID, "answer", { answer: transcript(sessionID).answer })
    },
    "session.deleted": ({ info }) => {
      if (transcripts.has(info.id) && !info.parentID) return end(info.id)
    },
  }
  const used = new Set() // sessions that git-smithers knows
  const end = (session) => {
    if (used.delete(session)) return send(session, "end")
  }

  return {
    event: quietly(({ event }) => events[event.type]?.(event.properties)),
    "chat.message": quietly(async ({ sessionID }, { parts }) => {
      await meet(sessionID)
      if (parents.get(sessionID)) return
      open.add(sessionID)
      used.add(sessionID)
      transcript(sessionID).answer = ""
      const texts = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      await send(sessionID, "prompt", { prompt: texts.join("\n") })
    }),
    "tool.execute.after": quietly(async ({ sessionID, tool, callID }) => {
      const session = root(sessionID)
      await send(session, "tool", { subagent: session === sessionID ? undefined : sessionID, tools: [{ id: callID, name: tool }] })
    }),
    "experimental.session.compacting": quietly(async ({ sessionID }) => {
      if (!parents.get(sessionID)) await send(sessionID, "compact")
    }),
    dispose: quietly(async () => {
      for (const session of [...used]) end(session)
      await within(queue, hookMs)
    }),
  }
}
