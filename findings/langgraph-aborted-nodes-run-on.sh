#!/bin/sh
# If one node of LangGraph.js throws, invoke throws at once, while nodes beside it run on to their ends. One expects that
# what they return then counts, or that they are stopped. Their results are dropped, and invoke(null), which tries the
# failed node again, runs them again, too: what they did outside, they have done twice.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, MemorySaver, START, Send, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ done: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }), n: Annotation() });
const wait = (ms) => new Promise((go) => setTimeout(go, ms));
const charged = [];
let fail = true;
const graph = new StateGraph(State)
  .addNode("charge", async ({ n }) => {
    await wait(n * 100);
    if (n === 2 && fail) throw new Error("declined");
    charged.push(n);
    return { done: [n] };
  })
  .addConditionalEdges(START, () => [1, 2, 3].map((n) => new Send("charge", { n })))
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "a" } };
const show = async (what) => console.log(`${what}: charged ${JSON.stringify(charged)}, done ${JSON.stringify((await graph.getState(config)).values.done)}`);
await graph.invoke({ done: [] }, config).catch(() => {});
await show("invoke has thrown");
await wait(300);
await show("a moment later");
fail = false;
await graph.invoke(null, config);
await show("tried again");
JS
cat >seen <<'TEXT'
invoke has thrown: charged [1], done [1]
a moment later: charged [1,3], done [1]
tried again: charged [1,3,2,3], done [1,2,3]
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
