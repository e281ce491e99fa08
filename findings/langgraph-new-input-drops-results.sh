#!/bin/sh
# In a step of LangGraph.js, one node has finished and another waits at a question, or has failed: getState has the
# finished node's result among the values. One expects that the result stays, whatever comes next. A new input instead of
# an answer, such as the next message in a chat, drops the result, and the node runs again if the graph leads to it. What
# the node did outside, it has done twice, and the state tells of one time.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";

const State = Annotation.Root({ said: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
let orders, broken;
const second = {
  asks: () => ({ said: [interrupt("which colour?")] }),
  fails: async () => { await new Promise((go) => setTimeout(go, 50)); if (broken) throw new Error("no"); return { said: ["second"] }; },
};
for (const [what, node] of Object.entries(second)) {
  orders = 0;
  broken = true;
  const graph = new StateGraph(State)
    .addNode("order", () => ({ said: [`order ${++orders}`] })).addNode("second", node)
    .addEdge(START, "order").addEdge(START, "second")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "a" } };
  const show = async (when) => {
    const { values, next } = await graph.getState(config);
    console.log(`the second node ${what}, ${when}: said ${JSON.stringify(values.said)}, next ${JSON.stringify(next)}`);
  };
  await graph.invoke({ said: ["hello"] }, config).catch(() => {});
  await show("first input");
  broken = false;
  await graph.invoke({ said: ["make it two"] }, config);
  await show("new input");
}
JS
cat >seen <<'TEXT'
the second node asks, first input: said ["hello","order 1"], next ["second"]
the second node asks, new input: said ["hello","make it two","order 2"], next ["second"]
the second node fails, first input: said ["hello","order 1"], next ["second"]
the second node fails, new input: said ["hello","make it two","order 2","second"], next []
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
