#!/bin/sh
# A node of LangGraph.js asks a question, gets an answer, and throws. One expects that next names the node, which has yet
# to succeed, that the question is no longer open, and that another answer replaces the first. next is empty, as at the
# end of a run; the question is still among the interrupts; another answer is dropped, and the node goes on with the
# first. A program that goes on while next has nodes takes the failed thread for a finished one. A person who is asked
# again, since the question is listed, and says no this time, has said yes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --legacy-peer-deps @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 @langchain/core@1.4.0 >/dev/null
cat >graph.mjs <<'JS'
import { Annotation, Command, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph";

const State = Annotation.Root({ said: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const outcomes = { "an answer": new Command({ resume: "no" }), "invoke(null)": null };
for (const [what, input] of Object.entries(outcomes)) {
  let broken = true;
  const graph = new StateGraph(State)
    .addNode("deploy", () => {
      const answer = interrupt("deploy?");
      if (broken) throw new Error("no network");
      return { said: [answer] };
    })
    .addEdge(START, "deploy")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "a" } };
  const show = async (when) => {
    const { values, next, tasks } = await graph.getState(config);
    const errors = tasks.filter(({ error }) => error !== undefined).length;
    console.log(`${when}: next ${JSON.stringify(next)}, questions ${tasks.flatMap((task) => task.interrupts).length}, errors ${errors}, said ${JSON.stringify(values.said)}`);
  };
  await graph.invoke({ said: [] }, config);
  await show("asked");
  await graph.invoke(new Command({ resume: "yes" }), config).catch(() => {});
  await show("  answered with yes, failed");
  broken = false;
  await graph.invoke(input, config);
  await show(`  gone on with ${what}${input === null ? "" : " of no"}`);
}
JS
cat >seen <<'TEXT'
asked: next ["deploy"], questions 1, errors 0, said []
  answered with yes, failed: next [], questions 1, errors 1, said []
  gone on with an answer of no: next [], questions 0, errors 0, said ["yes"]
asked: next ["deploy"], questions 1, errors 0, said []
  answered with yes, failed: next [], questions 1, errors 1, said []
  gone on with invoke(null): next [], questions 0, errors 0, said ["yes"]
TEXT
echo "LangGraph.js $(node -p 'require("./node_modules/@langchain/langgraph/package.json").version'), node $(node --version)"
node graph.mjs >now
cat now
diff seen now
