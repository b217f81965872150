// Questions to the server, with the secret of this page, which no other page knows.

const meta = (name) => document.querySelector(`meta[name="edl-${name}"]`).content;

// The answer's JSON. Throws an Error whose message can be shown.
export async function ask(path, body, signal) {
  const headers = { "Content-Type": "application/json", [meta("header")]: meta("secret") };
  let response;
  try {
    response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the dashboard does not answer: does kubectl edl dashboard still run?");
  }
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export const scales = meta("scales") === "yes";
