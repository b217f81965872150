// The cluster as a whole: figures, load over time, nodes.

import { bar, lines, sample } from "./charts.js";
import { byId, element, setHidden, setText } from "./dom.js";
import { Table } from "./tables.js";
import { clock, many } from "./format.js";

const ROWS = 12;
const FEW = 24; // nodes that are seen at a glance

export class Cluster {
  #titles = "";
  #drawn = "";
  #figures = new Map();

  show({ cluster, nodes }) {
    this.#show("Training jobs", `${cluster.running} running, ${cluster.queued} waiting`);
    if (nodes.known) this.#show("Nodes", `${nodes.ready} of ${nodes.all} ready`);
    for (const [kind, load] of cluster.loads.entries()) {
      const more = `${load.used} of ${load.offered}`;
      this.#show(load.title, `${load.share} %`, more, { share: load.share, kind });
    }
    setText(byId("deciding"), cluster.deciding ? `Decided by ${cluster.deciding}.` : "");
    this.#samples(cluster);
  }

  #show(title, figure, more = "", { share, kind } = { share: null }) {
    let held = this.#figures.get(title);
    if (!held) {
      held = { figure: element("span"), more: element("small"), bar: element("div"), share: null };
      this.#figures.set(title, held);
      const value = element("dd", {}, held.figure, held.more, held.bar);
      byId("figures").append(element("div", {}, element("dt", {}, title), value));
    }
    setText(held.figure, figure);
    setText(held.more, more);
    if (share !== held.share) {
      held.share = share;
      held.bar.replaceChildren(bar(share, `${title}: ${share} % requested`, kind));
    }
  }

  #samples({ samples, loads }) {
    const titles = loads.map(({ title }) => title);
    const said = JSON.stringify([samples, titles]);
    setHidden(byId("load-chart").parentElement, samples.length === 0 || titles.length === 0);
    if (said === this.#drawn || samples.length === 0 || titles.length === 0) return;
    this.#drawn = said;
    byId("load-chart").replaceChildren(lines(samples, titles));
    setText(byId("load-begin"), clock(samples[0].at));
    setText(byId("load-end"), clock(samples.at(-1).at));
    this.#head(titles);
    const step = Math.ceil(samples.length / ROWS);
    const shown = samples.filter((_, index) => (samples.length - 1 - index) % step === 0);
    this.table.show(shown.reverse(), (row) => String(row.at));
  }

  #head(titles) {
    if (this.#titles === titles.join()) return;
    this.#titles = titles.join();
    byId("load-legend").replaceChildren(
      ...titles.map((title, index) => element("span", {}, sample(index), title)),
    );
    this.table = new Table(
      byId("load-table"),
      "Load over time",
      [
        { title: "At", cell: (row) => clock(row.at) },
        ...titles.map((title) => ({ title, cell: (row) => `${row.shares[title] ?? 0} %` })),
        { title: "Running", cell: (row) => row.running },
        { title: "Waiting", cell: (row) => row.queued },
      ],
      "Nothing was seen yet.",
    );
  }
}

export class Nodes {
  #titles = null;

  constructor() {
    this.spread = new Table(
      byId("spread-table"),
      "Nodes by requested CPU",
      [
        { title: "Requested CPU", cell: (row) => row.title },
        { title: "Nodes", cell: (row) => row.nodes },
        {
          title: "Part",
          cell: (row) => bar((100 * row.nodes) / row.all, `${row.nodes} of ${row.all} nodes`),
          drawn: (row) => [row.nodes, row.all],
        },
      ],
      "",
    );
  }

  show({ nodes }) {
    const all = nodes.all;
    setHidden(byId("spread-table"), all <= FEW);
    const spread = all > FEW ? nodes.spread.map((row) => ({ ...row, all })) : [];
    this.spread.show(spread, (row) => row.title);
    this.#head(nodes.titles);
    this.table.show(nodes.rows, (row) => row.name);
    const hidden = all - nodes.rows.length;
    setText(byId("nodes-more"), hidden > 0 ? `and ${many(hidden, "more node", "more nodes")}` : "");
  }

  #head(titles) {
    if (this.#titles === titles.join()) return;
    this.#titles = titles.join();
    const loads = titles.map((title, index) => ({
      title,
      cell: ({ name, loads }) => load(name, loads[index], index),
      drawn: ({ loads }) => loads[index],
    }));
    this.table = new Table(
      byId("nodes-table"),
      "Load by node",
      [
        { title: "Node", cell: (row) => row.name },
        { title: "Status", cell: (row) => row.status },
        { title: "Pods", cell: (row) => row.pods },
        ...loads,
      ],
      "Nodes are not known here.",
    );
  }
}

function load(node, { title, share, used, offered }, kind) {
  const text = element("span", { class: "figure", title: `${used} of ${offered}` }, `${share} %`);
  return element("div", { class: "load" }, text, bar(share, `${title} of ${node}: ${share} %`, kind));
}
