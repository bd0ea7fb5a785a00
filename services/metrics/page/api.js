// The service's answers, and news that there are others.

async function fetchJson(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(20000) });
  const body = await answer.json().catch(() => ({ error: `${path}: status ${answer.status}` }));
  if (!answer.ok) throw new Error(body.error || `${path}: status ${answer.status}`);
  return body;
}

// A report's rows as objects; with `more`, and for rounds `each` and `of`.
export async function report(name, run, most) {
  const of = run === undefined ? `/api/${name}` : `/api/runs/${encodeURIComponent(run)}/${name}`;
  const body = await fetchJson(most ? `${of}?most=${most}` : of);
  const rows = body.rows.map((row) =>
    Object.fromEntries(body.columns.map((column, i) => [column, row[i]])));
  return { rows, more: body.more, each: body.each, of: body.of };
}

export async function live(run) {
  const body = await fetchJson(`/api/live?run=${encodeURIComponent(run)}`);
  return body.rows.map(([name, , label, value]) => ({ name, label, value }));
}

// Calls onChange when the store has changed and onState("live" | "lost") when the connection comes
// or goes. The browser connects again by itself.
export function listen(onChange, onState) {
  const stream = new EventSource("/api/stream");
  stream.addEventListener("hello", () => { onState("live"); onChange(); });
  stream.addEventListener("change", onChange);
  stream.addEventListener("error", () => onState("lost"));
}
