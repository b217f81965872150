// The page of one job: read again after a change in the cluster, at most every few seconds.

import { stairs } from "./charts.js";
import { byId, element, setHidden, setText } from "./dom.js";
import { clock, fullName, many } from "./format.js";
import { follow, hint, trouble } from "./page_frame.js";
import { Table } from "./tables.js";

const PAUSE = 3_000;
const PATIENCE = 60_000;
const COLOURED = ["Phase", "Status"];

// A table with the columns of a command, which may differ from one answer to the next.
class Listing {
  #columns = "";

  constructor(name, caption, nothing) {
    Object.assign(this, { name, caption, nothing });
  }

  show({ columns, rows, more }) {
    if (columns.join() !== this.#columns) {
      this.#columns = columns.join();
      const shown = columns.map((title, index) => column(title, index));
      this.table = new Table(byId(`${this.name}-table`), this.caption, shown, this.nothing);
    }
    this.table.show(rows.map((cells, number) => ({ cells, number })), (row) => String(row.number));
    setText(byId(`${this.name}-more`), more > 0 ? `and ${many(more, "more row")}` : "");
  }
}

function column(title, index) {
  const text = ({ cells }) => cells[index];
  if (!COLOURED.includes(title)) return { title, cell: text };
  const cell = (row) => element("span", { class: `phase ${text(row).toLowerCase()}` }, text(row));
  return { title, cell, drawn: text };
}

const sizes = new Listing("sizes", "Sizes of its roles", "Its roles are not known: see the reason.");
const domains = new Listing("domains", "Topology domains of its pods", "");
const pods = new Listing("pods", "Pods", "It has no pods.");
const events = new Listing("job-events", "Events, the newest first", "No Events are stored.");
const history = new Listing("job-history", "History, the newest first", "Nothing has happened yet.");
let drawn = "";
let newest = null;
let busy = false;

async function show(picture) {
  newest = picture;
  if (busy) return;
  busy = true;
  while (newest) {
    const { trouble: old } = newest;
    newest = null;
    trouble((await read()) || old);
    await new Promise((resume) => setTimeout(resume, PAUSE));
  }
  busy = false;
}

// Draws the newest state; returns why that is impossible, or "".
async function read() {
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const response = await fetch(`${location.pathname}/state`, { signal });
    const answer = await response.json();
    if (!response.ok) return answer.error;
    draw(answer);
    return "";
  } catch (error) {
    return `the dashboard does not answer: ${error.message}`;
  }
}

function draw(page) {
  hint(page.hints);
  setText(byId("job-phase"), page.phase);
  byId("job-phase").className = `phase ${page.phase.toLowerCase()}`;
  // The last step of the chart grows: it is drawn again each minute, too.
  const text = JSON.stringify([page.facts, page.blockers, page.chart, Math.floor(Date.now() / 60_000)]);
  if (text !== drawn) {
    drawn = text;
    byId("facts").replaceChildren(...page.facts.map(fact));
    byId("blockers").replaceChildren(...page.blockers.map(blockerList));
    chart(page.chart);
  }
  sizes.show(page.sizes);
  domains.show(page.domains);
  pods.show(page.pods);
  events.show(page.events);
  history.show(page.history);
  setText(byId("job-events-command"), page.command);
}

function fact([label, text]) {
  return element("div", {}, element("dt", {}, label), element("dd", {}, text));
}

function blockerList({ title, remedy, lines, note }) {
  const items = lines.map(([what, helps]) =>
    element("li", {}, what, helps ? element("div", { class: "muted" }, `${remedy}: ${helps}`) : null),
  );
  const more = note ? element("p", { class: "muted" }, note) : null;
  return element("div", {}, element("h3", {}, title), element("ol", {}, ...items), more);
}

function chart(job) {
  setHidden(byId("size-figure"), !job || job.line.length === 0);
  if (byId("size-figure").hidden) return;
  byId("size-chart").replaceChildren(stairs(job, job.ended ?? Date.now() / 1000, true));
  setText(byId("size-caption"), `Replicas of ${job.role} over time, of ${job.max} at most`);
  setText(byId("size-begin"), clock(job.line[0][0]));
  setText(byId("size-end"), job.ended ? clock(job.ended) : "now");
}

follow(show);
