// What if: a job, its size over time, and a slider on its max.

import { ask } from "./requests.js";
import { sizeBar, stairs } from "./charts.js";
import { byId, element, setText } from "./dom.js";
import { Table } from "./tables.js";
import { clock, fullName, length, many } from "./format.js";

const SETTLED = 250; // milliseconds without a move of the slider
const ROOM = 8; // replicas beyond a small max that the slider reaches

export class Imagine {
  #jobs = new Map();
  #options = "";
  #timer = 0;
  #asked = null;

  constructor() {
    this.select = byId("imagine-job");
    this.slider = byId("imagine-max");
    this.table = new Table(
      byId("imagine-table"),
      "What if: sizes after ten minutes",
      [
        { title: "Name", cell: fullName },
        { title: "Now", cell: (row) => row.now },
        { title: "As it is", cell: (row) => size(row.asIs) },
        { title: "What if", cell: (row) => size(row.whatIf) },
        { title: "Starts", cell: (row) => (row.now > 0 ? "runs" : begins(row)) },
        { title: "Reason", cell: (row) => row.whatIf.message },
      ],
      "",
    );
    byId("imagine-form").addEventListener("submit", (event) => event.preventDefault());
    this.select.addEventListener("change", () => this.#choose());
    this.slider.addEventListener("input", () => this.#move());
  }

  get job() {
    return this.#jobs.get(this.select.value) ?? null;
  }

  show({ jobs }) {
    const rows = jobs.rows.filter((row) => row.imaginable);
    this.#jobs = new Map(rows.map((row) => [fullName(row), row]));
    const names = [...this.#jobs.keys()];
    if (names.join("\n") !== this.#options) {
      this.#options = names.join("\n");
      const chosen = this.select.value;
      this.select.replaceChildren(...names.map((name) => element("option", {}, name)));
      if (this.#jobs.has(chosen)) this.select.value = chosen;
      else this.#choose();
    }
    this.slider.disabled = this.select.disabled = names.length === 0;
    if (names.length === 0) setText(byId("imagine-said"), "No training job to ask about.");
  }

  #choose() {
    const row = this.job;
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.table.show([]);
    if (!row) return;
    this.slider.min = row.min;
    this.slider.max = Math.max(2 * row.max, row.max + ROOM);
    this.slider.value = row.max;
    this.#value();
    setText(byId("imagine-said"), `${fullName(row)} may have ${row.min} to ${row.max}; move its max.`);
    this.select.dispatchEvent(new CustomEvent("chosen", { bubbles: true }));
  }

  #value() {
    setText(byId("imagine-value"), this.slider.value);
    this.slider.setAttribute("aria-valuetext", many(Number(this.slider.value), "replica"));
  }

  #move() {
    this.#value();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), SETTLED);
  }

  async #ask() {
    const row = this.job;
    if (!row) return;
    this.#asked?.abort();
    this.#asked = new AbortController();
    const { namespace, name } = row;
    const max = Number(this.slider.value);
    try {
      const answer = await ask("/what-if", { namespace, name, max }, this.#asked.signal);
      this.table.show(answer.rows);
      setText(byId("imagine-said"), said(row, answer));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.table.show([]);
      setText(byId("imagine-said"), `Not known: ${error.message}`);
    }
  }
}

function said(row, { max, minutes, rows, untouched, more }) {
  const [own, ...others] = rows;
  const before = `With a max of ${max}, ${fullName(row)} would have ${size(own.whatIf)}`;
  const instead = `in ${minutes} minutes instead of ${size(own.asIs)}`;
  const touched = others.length + more;
  const rest =
    touched > 0
      ? `${many(touched, "other job")} would change, ${untouched} would not`
      : "no other job would change";
  return `${before} ${instead}; ${rest}.`;
}

function size(outcome) {
  return outcome.size ?? `none, done after ${length(outcome.ends)}`;
}

function begins({ whatIf }) {
  return whatIf.starts === null ? "not in this time" : `in ${length(whatIf.starts)}`;
}

// The chosen job's size over time: a chart, and the same as a table.
export class History {
  #drawn = "";

  constructor() {
    this.table = new Table(
      byId("history-table"),
      "Changes of its size, the newest first",
      [
        { title: "At", cell: (row) => clock(row.at) },
        { title: "Replicas", cell: (row) => row.size },
        {
          title: "Of its max",
          cell: (row) => sizeBar({ ...row, running: row.size }),
          drawn: (row) => [row.size, row.max],
        },
      ],
      "It has not started yet.",
    );
  }

  show(job) {
    const now = job?.ended ?? Math.floor(Date.now() / 10_000) * 10;
    const drawn = JSON.stringify([job?.namespace, job?.name, job?.line, job?.max, now]);
    if (!job || drawn === this.#drawn) return;
    this.#drawn = drawn;
    byId("history-chart").replaceChildren(job.line.length > 0 ? stairs(job, now, true) : "");
    setText(byId("history-begin"), job.line.length > 0 ? clock(job.line[0][0]) : "");
    setText(byId("history-end"), job.line.length > 0 ? (job.ended ? clock(job.ended) : "now") : "");
    setText(byId("history-title"), `${job.role} of ${fullName(job)}, of ${job.max} at most`);
    const { min, max, role } = job;
    const rows = job.line.map(([at, size], number) => ({ at, size, number, min, max, role }));
    this.table.show(rows.reverse(), (row) => `${fullName(job)} ${row.number}`);
  }
}
