// weir install wrote this plugin of opencode, and weir uninstall removes it: changes of yours would be lost.
//
// It asks Weir before and after each tool. A tool runs, and its result reaches the model, only if Weir says so: an
// error, a crash, a late answer or none denies it.
import { spawn } from "node:child_process"

const program = "@program@"
const options = ["@options@"]

// patience is how long an answer may take, in milliseconds. Weir itself gives up earlier.
const patience = 60000

// ask runs weir hook with an event, and returns its answer.
function ask(name, members) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["hook", "opencode", name, ...options])
    const out = []
    const errors = []
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error("it takes too long"))
    }, patience)
    child.on("error", (error) => {
      clearTimeout(late)
      reject(error)
    })
    child.stdin.on("error", () => {}) // the status tells
    child.stdout.on("data", (data) => out.push(data))
    child.stderr.on("data", (data) => errors.push(data))
    child.on("close", (status) => {
      clearTimeout(late)
      try {
        if (status !== 0) throw new Error(Buffer.concat(errors).toString().trim())
        resolve(JSON.parse(Buffer.concat(out).toString()))
      } catch (error) {
        reject(error)
      }
    })
    child.stdin.end(JSON.stringify({ event: name, ...members }))
  })
}

// need denies a call unless Weir says that it goes on.
async function need(name, members) {
  let answer
  try {
    answer = await ask(name, members)
  } catch (error) {
    throw new Error("Weir gave no answer, so this is denied: " + (error?.message || error))
  }
  if (answer?.proceed !== true) throw new Error(answer?.reason || "Weir denied this")
}

export const Weir = async ({ client, directory: cwd }) => ({
  "chat.message": async ({ sessionID }) => {
    try {
      const { data } = await client.session.messages({ path: { id: sessionID } })
      const source = data.some((message) => message.info.role !== "user") ? "resumed" : "new"
      const { systemMessage: message } = await ask("chat.message", { sessionID, cwd, source })
      if (message) await client.tui.showToast({ body: { title: "Weir", message, variant: "warning" } })
    } catch {
      // The conversation counts as one whose beginning Weir did not see: the worst.
    }
  },
  "tool.execute.before": ({ tool, sessionID, callID }, { args }) =>
    need("tool.execute.before", { sessionID, cwd, tool, callID, args }),
  "tool.execute.after": ({ tool, sessionID, callID, args }, output) =>
    need("tool.execute.after", { sessionID, cwd, tool, callID, args, output }),
})
