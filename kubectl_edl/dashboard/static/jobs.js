// Training jobs: sizes now and over time; and the queue.

import { sizeBar, stairs } from "./charts.js";
import { byId, element, setText } from "./dom.js";
import { Table } from "./tables.js";
import { age, fullName, many } from "./format.js";

export class Jobs {
  constructor() {
    this.table = new Table(
      byId("jobs-table"),
      "Training jobs",
      [
        { title: "Name", cell: link, drawn: fullName },
        { title: "Framework", cell: framework, drawn: ({ framework, sizes }) => [framework, sizes] },
        { title: "Phase", cell: phase, drawn: (row) => row.phase },
        {
          title: "Size",
          cell: size,
          drawn: ({ running, size, min, max, role }) => [running, size, min, max, role],
        },
        {
          title: "Over time",
          cell: (row) => (row.line.length > 0 ? stairs(row, row.ended ?? Date.now() / 1000) : "not yet"),
          // Drawn again each minute, too: the last step grows.
          drawn: (row) => [row.line, row.max, row.ended ?? Math.floor(Date.now() / 60_000)],
        },
        { title: "Reason", cell: reason, drawn: ({ message, domains }) => [message, domains] },
      ],
      "No training jobs here. A Job becomes one by the label edl.dev/framework.",
    );
    byId("filter").addEventListener("input", () => this.#filter());
  }

  show({ jobs }) {
    this.table.show(jobs.rows);
    const hidden = jobs.all - jobs.rows.length;
    setText(byId("jobs-more"), hidden > 0 ? `and ${many(hidden, "more job", "more jobs")}` : "");
    this.#filter();
  }

  #filter() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    this.table.filter((row) => {
      const text = [fullName(row), row.phase, row.framework].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }
}

// To the job's own page.
function link(row) {
  const href = `/jobs/${encodeURIComponent(row.namespace)}/${encodeURIComponent(row.name)}`;
  return element("a", { href }, fullName(row));
}

// Of several roles, all of them: chief=1/1, ps=2/2, worker=4/1..12 (now/min..max).
function framework({ framework: name, sizes }) {
  const roles = sizes.includes(",") ? element("small", {}, sizes.replaceAll(",", ", ")) : null;
  return element("div", {}, element("div", {}, name), ...(roles ? [roles] : []));
}

function phase(row) {
  return element("span", { class: `phase ${row.phase.toLowerCase()}` }, row.phase);
}

// Of a job with a topology also where its pods are: worker, example.com/rack: r3 (6), r4 (2).
function reason({ message, domains }) {
  const lines = domains.map(({ role, label, pods }) =>
    element("div", {}, element("small", {}, `${role}, ${label}: ${pods}`)),
  );
  return element("div", {}, element("div", {}, message), ...lines);
}

function size(row) {
  const now = row.running === row.size ? `${row.size}` : `${row.running} of ${row.size}`;
  const bounds = row.min === row.max ? ` of ${row.max}` : ` in ${row.min}..${row.max}`;
  const text = element("span", { class: "figure" }, now, element("small", {}, bounds));
  return element("div", { class: "load" }, text, sizeBar(row));
}

export class Queue {
  #teams = null;

  show({ queue, teams }) {
    this.#head(teams.all > 0);
    this.table.show(queue.rows);
    const hidden = queue.all - queue.rows.length;
    setText(byId("queue-more"), hidden > 0 ? `and ${many(hidden, "more job", "more jobs")}` : "");
  }

  #head(teams) {
    if (this.#teams === teams) return;
    this.#teams = teams;
    this.table = new Table(
      byId("queue-table"),
      "Queue",
      [
        { title: "Name", cell: link, drawn: fullName },
        { title: "Place", cell: (row) => (row.position === 0 ? "next" : (row.position ?? "none")) },
        ...(teams ? [{ title: "Team", cell: team }] : []),
        { title: "Priority", cell: (row) => row.priority },
        { title: "Waits for", cell: (row) => row.asks },
        { title: "Behind", cell: (row) => row.ahead.join(", ") || "none" },
        { title: "Starts", cell: (row) => row.starts },
        { title: "Reason", cell: (row) => row.message },
        { title: "Waits since", cell: (row) => age(row.since) },
      ],
      "No training job waits.",
    );
  }
}

// vision#2: the second of its team, as kubectl edl queue writes it.
function team(row) {
  return row.placeInTeam ? `${row.team}#${row.placeInTeam}` : row.team;
}
