// The one connection of this tab: server-sent events, only while the page is visible.
//
// A browser opens six connections to one server, whatever the number of its tabs: a hidden tab
// gives its own back, and has the newest picture again as soon as it is seen.

const SILENT = 35_000; // three beats

export class Stream {
  #source = null;
  #timer = 0;

  // `picture` is called with each picture, `state` with "live", "connecting" or "lost".
  constructor(picture, state) {
    this.picture = picture;
    this.state = state;
    document.addEventListener("visibilitychange", () => this.#see());
    window.addEventListener("pagehide", () => this.#close());
    window.addEventListener("pageshow", () => this.#see());
    this.#see();
  }

  #see() {
    if (document.visibilityState === "hidden") this.#close();
    else if (!this.#source) this.#open();
  }

  #open() {
    this.state("connecting");
    const source = new EventSource("/events");
    source.addEventListener("state", (event) => {
      this.#heard();
      this.picture(JSON.parse(event.data));
    });
    source.addEventListener("beat", () => this.#heard());
    source.addEventListener("error", () => {
      this.state("lost");
      // A refused connection is not tried again by the browser itself.
      if (source.readyState === EventSource.CLOSED) this.#again(5_000);
    });
    this.#source = source;
    this.#again(SILENT);
  }

  #heard() {
    this.state("live");
    this.#again(SILENT);
  }

  #again(after) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#close();
      this.#see();
    }, after);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }
}
