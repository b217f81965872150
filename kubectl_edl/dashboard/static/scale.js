// Holding a size, where the dashboard was started with --allow-scale: as kubectl edl scale does.

import { ask } from "./requests.js";
import { byId, setText } from "./dom.js";

export class Scale {
  // `job()` is the row that is chosen, or null.
  constructor(job) {
    this.job = job;
    this.size = byId("scale-size");
    byId("scale-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask(Number(this.size.value));
    });
    byId("scale-auto").addEventListener("click", () => this.#ask(null));
  }

  choose(row) {
    this.size.min = row.min;
    this.size.max = row.max;
    this.size.value = row.wanted ?? (row.size || row.min);
    setText(byId("scale-said"), "");
  }

  async #ask(size) {
    const row = this.job();
    if (!row) return;
    const { namespace, name } = row;
    try {
      const { message } = await ask("/scale", { namespace, name, size });
      setText(byId("scale-said"), message);
    } catch (error) {
      setText(byId("scale-said"), `Not done: ${error.message}`);
    }
  }
}
