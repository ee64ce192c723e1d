/**
 * For whoever comes first: what this is, a sample to look at that can be removed again, and what to paste
 * into an agent so that it remembers.
 */
import { useMutation } from "@tanstack/react-query";
import { useRemoveGraph } from "../base/reads.ts";
import { go, hashOf } from "../base/route.ts";
import { useMakeGraph, useStudio } from "../base/studio.tsx";
import { CopyButton, FailureText, RawText } from "../base/ui.tsx";
import { plantSample } from "./sample.ts";

/** The graph that the sample is put into, so that nothing of it mixes with what is real. */
export const SAMPLE_GRAPH = "sample";

/** The first page of a server whose memory is empty. */
export function Welcome({ graph }: { readonly graph: string }) {
  return (
    <div className="welcome">
      <h1>A memory for agents</h1>
      <p className="lead">
        Nothing is remembered for <strong>{graph}</strong> yet. What an agent is told is kept here
        as sentences: who said it, when, what it replaced. You can ask it, see why it answers as it
        does, correct it, undo it, and prove that nobody altered it.
      </p>
      <SampleButton />
      <AgentBlock />
    </div>
  );
}

/** Makes the sample and goes there. */
export function SampleButton() {
  const make = useMakeGraph();
  const plant = useMutation({
    mutationFn: async () => {
      const memory = await make(SAMPLE_GRAPH);
      const { memories } = await memory.list({ limit: 1 });
      if (memories.length === 0) await plantSample(memory);
    },
    onSuccess: () => go(hashOf({ page: "", params: { graph: SAMPLE_GRAPH } })),
  });
  return (
    <section className="card">
      <h2>Look at a sample</h2>
      <p>
        The memory of Mara, who plans a trip: two conversations, some forty memories, links between
        them, a value that changed, and a question that is open. It goes into a graph of its own.
      </p>
      <button
        type="button"
        className="primary"
        disabled={plant.isPending}
        onClick={() => plant.mutate()}
      >
        {plant.isPending ? "Making the sample…" : "Make the sample graph"}
      </button>
      {plant.error !== null && <FailureText error={plant.error} isOwner={true} />}
    </section>
  );
}

/** Removes the sample with its graph. */
export function RemoveSample() {
  const { canWrite } = useStudio();
  const remove = useRemoveGraph("The sample is gone.");
  if (!canWrite) return null;
  return (
    <>
      <button
        type="button"
        disabled={remove.isPending}
        onClick={() => remove.mutate({ id: SAMPLE_GRAPH, reason: "the sample goes" })}
      >
        {remove.isPending ? "Removing…" : "Remove the sample"}
      </button>
      {remove.error !== null && <FailureText error={remove.error} isOwner={true} />}
    </>
  );
}

/** What to paste into an agent. */
export function AgentBlock() {
  const block = JSON.stringify(
    { mcpServers: { memory: { type: "http", url: `${window.location.origin}/mcp` } } },
    null,
    2,
  );
  return (
    <section className="card">
      <h2>Let an agent remember</h2>
      <p>
        Paste this into the settings of an agent that speaks MCP. If the server has a token, add the
        header <code>Authorization: Bearer …</code> there. <code>cortex mcp config</code> prints the
        block for the client you have.
      </p>
      <RawText text={block} label="Settings for an agent" />
      <CopyButton text={block} label="Copy the block" />
    </section>
  );
}
