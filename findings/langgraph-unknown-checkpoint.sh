#!/bin/sh
# updateState and invoke of LangGraph.js take a checkpoint_id that the thread does not have. One expects an error, since the
# id is meant to say where to go on. LangGraph begins with no values and stores the result as the thread's latest
# checkpoint, so the thread seems to have lost all that it had; only the history still shows it. An id from another thread, or of a
# checkpoint that was pruned, is enough.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ notes: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const graph = new StateGraph(State)
  .addNode("work", () => ({ notes: ["worked"] })).addEdge(START, "work")
  .compile({ checkpointer: new MemorySaver() });
const latest = async (thread_id) => JSON.stringify((await graph.getState({ configurable: { thread_id } })).values.notes);
for (const [what, go] of [
  ["updateState", (config) => graph.updateState(config, { notes: ["corrected"] }, "work")],
  ["invoke", (config) => graph.invoke({ notes: ["asked again"] }, config)],
]) {
  const config = { configurable: { thread_id: what } };
  await graph.invoke({ notes: ["asked"] }, config);
  const before = await latest(what);
  let said = "no error";
  await go({ configurable: { thread_id: what, checkpoint_id: "1f000000-0000-6000-8000-000000000000" } }).catch((error) => (said = error.message));
  console.log(`${what} at an unknown checkpoint: ${said}; latest before ${before}, after ${await latest(what)}`);
}
JS
cat >seen <<'TEXT'
updateState at an unknown checkpoint: no error; latest before ["asked","worked"], after ["corrected"]
invoke at an unknown checkpoint: no error; latest before ["asked","worked"], after ["asked again","worked"]
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
