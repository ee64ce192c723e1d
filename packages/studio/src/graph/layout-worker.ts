/**
 * The layout, away from the page: takes the matrices of ForceAtlas2, runs some steps at a time and sends
 * the places back after each.
 */
import iterate from "graphology-layout-forceatlas2/iterate.js";

/** What the page sends. */
export interface LayoutTask {
  /** Ten numbers a memory: x, y, four forces, mass, convergence, size, and 1 where it stays. */
  readonly nodes: Float32Array;
  /** Three numbers a link: the two rows above, and its weight. */
  readonly edges: Float32Array;
  readonly steps: number;
}

/** What comes back: the matrix of memories after some steps. */
export interface LayoutNews {
  readonly nodes: Float32Array;
  readonly isDone: boolean;
}

const AT_ONCE = 12;

self.onmessage = ({ data }: MessageEvent<LayoutTask>) => {
  const { nodes, edges, steps } = data;
  const order = nodes.length / 10;
  const settings = {
    linLogMode: false,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 1,
    scalingRatio: 30,
    strongGravityMode: true,
    gravity: 0.08,
    slowDown: 1 + Math.log(Math.max(1, order)),
    barnesHutOptimize: order > 800,
    barnesHutTheta: 0.6,
  };
  for (let done = 0; done < steps; done += AT_ONCE) {
    for (let one = 0; one < AT_ONCE; one++) iterate(settings, nodes, edges);
    const news: LayoutNews = { nodes: nodes.slice(), isDone: done + AT_ONCE >= steps };
    self.postMessage(news);
  }
};
