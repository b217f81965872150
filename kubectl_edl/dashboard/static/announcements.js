// What a screen reader is told while its user reads elsewhere: phases and sizes that changed, a few
// at a time, and never the same twice.

import { byId, element } from "./dom.js";
import { fullName, many } from "./format.js";

const QUIET = 4_000;
const MOST = 3;

export class News {
  #known = null;
  #waiting = new Map();
  #timer = 0;

  show({ jobs }) {
    const found = new Map(jobs.rows.map((row) => [fullName(row), `${row.phase}, ${row.running} of ${row.size} running`]));
    if (this.#known) {
      for (const [name, said] of found) {
        if (this.#known.get(name) !== said) this.#waiting.set(name, said);
      }
      for (const name of this.#known.keys()) {
        if (!found.has(name)) this.#waiting.set(name, "gone");
      }
    }
    this.#known = found;
    if (this.#waiting.size > 0 && !this.#timer) {
      this.#timer = setTimeout(() => this.#tell(), QUIET);
    }
  }

  #tell() {
    const told = [...this.#waiting].map(([name, said]) => `${name}: ${said}`);
    const rest = told.length - MOST;
    if (rest > 0) told.splice(MOST, rest, `${many(rest, "more job")} changed`);
    byId("news").replaceChildren(element("p", {}, told.join(". ")));
    this.#waiting.clear();
    this.#timer = 0;
  }
}
