#!/bin/sh
# An object in Command({resume}) of LangGraph.js answers questions by their ids if each of its keys looks like an id. One
# expects that a key which is no id is refused, or left out. With one such key, the whole object is the answer, ids and
# all, and the graph goes on with it. With the id of another thread's question alone, nothing is answered, and
# nothing is said; an empty object, which answers no question, is an answer.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";

const State = Annotation.Root({ answers: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const graph = new StateGraph(State)
  .addNode("ask", () => ({ answers: [interrupt("name?")] })).addEdge(START, "ask")
  .compile({ checkpointer: new MemorySaver() });
let threads = 0;
const answer = async (what, resume) => {
  const config = { configurable: { thread_id: String(threads++) } };
  await graph.invoke({ answers: [] }, config);
  const [question] = (await graph.getState(config)).tasks[0].interrupts;
  await graph.invoke(new Command({ resume: resume(question.id) }), config);
  const { values, next } = await graph.getState(config);
  console.log(`${what}: next ${JSON.stringify(next)}, answers ${JSON.stringify(values.answers).replaceAll(question.id, "ID")}`);
};
const another = "0123456789abcdef0123456789abcdef";
await answer("the question's id", (id) => ({ [id]: "Ada" }));
await answer("its id and another id", (id) => ({ [id]: "Ada", [another]: "Bob" }));
await answer("its id and a word", (id) => ({ [id]: "Ada", who: "Bob" }));
await answer("another id alone", () => ({ [another]: "Ada" }));
await answer("an empty object", () => ({}));
JS
cat >seen <<'TEXT'
the question's id: next [], answers ["Ada"]
its id and another id: next [], answers ["Ada"]
its id and a word: next [], answers [{"ID":"Ada","who":"Bob"}]
another id alone: next ["ask"], answers []
an empty object: next [], answers [{}]
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
