#!/bin/sh
# If two nodes of LangGraph.js run side by side and one throws, getState gives the other one, which has finished, both
# its result and an AbortError. One expects a result or an error. Its write counts, and the node does not run again, so
# that a reader who takes an error in tasks for a failed node shows a failure that never was, and one that tries failed
# nodes again repeats what had succeeded. It happens if both end in the same turn of the event loop.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ done: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
let runs = 0; // of the node that succeeds
const graph = new StateGraph(State)
  .addNode("good", () => { runs++; return { done: ["good"] }; })
  .addNode("bad", () => { throw new Error("no"); })
  .addEdge(START, "good").addEdge(START, "bad")
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "a" } };
for (const input of [{ done: [] }, null]) {
  const failed = await graph.invoke(input, config).catch((error) => error.message);
  const { next, tasks, values } = await graph.getState(config);
  console.log(`failed with ${failed}; next ${JSON.stringify(next)}, done ${JSON.stringify(values.done)}, good ran ${runs} time`);
  for (const { name, result, error } of tasks) console.log(`  ${name}: result ${JSON.stringify(result)}, error ${JSON.stringify(error)}`);
}
JS
cat >seen <<'TEXT'
failed with no; next ["bad"], done ["good"], good ran 1 time
  good: result {"done":["good"]}, error {"message":"This operation was aborted","name":"AbortError"}
  bad: result undefined, error {"message":"no","name":"Error"}
failed with no; next ["bad"], done ["good"], good ran 1 time
  good: result {"done":["good"]}, error {"message":"This operation was aborted","name":"AbortError"}
  bad: result undefined, error {"message":"no","name":"Error"}
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
