// Numbers, sizes and times as people read them. What is missing is a dash.

const NONE = "–";

export const exact = (value) => (value === null || value === undefined ? NONE : String(value));

export function fixed(digits) {
  return (value) => (Number.isFinite(value) ? value.toFixed(digits) : NONE);
}

export const loss = fixed(4);

// 921600 -> "921.6 k"
export function count(value) {
  if (!Number.isFinite(value)) return NONE;
  const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [step, letter] of steps)
    if (Math.abs(value) >= step) return `${+(value / step).toPrecision(4)} ${letter}`;
  return String(+value.toPrecision(4));
}

export function bytes(value) {
  return Number.isFinite(value) ? `${count(value)}B`.replace(/(\d)B$/, "$1 B") : NONE;
}

export function milliseconds(value) {
  if (!Number.isFinite(value)) return NONE;
  if (value < 1000) return `${+value.toPrecision(3)} ms`;
  if (value < 60000) return `${+(value / 1000).toPrecision(3)} s`;
  const minutes = Math.floor(value / 60000);
  return minutes < 60 ? `${minutes} min ${Math.round((value % 60000) / 1000)} s`
                      : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// An ISO time as the reader's local one.
export function time(text) {
  const at = text ? new Date(text) : null;
  if (!at || Number.isNaN(at.getTime())) return NONE;
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
         `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

// An event's details: its reason, or else each of them.
export function detail(text) {
  let all;
  try {
    all = JSON.parse(text);
  } catch {
    return text || "";
  }
  if (all === null || typeof all !== "object") return String(all);
  const words = [];
  for (const [key, value] of Object.entries(all)) {
    if (value === "" || value === null || key === "member" || key === "worker") continue;
    const plain = typeof value === "object" ? JSON.stringify(value) : String(value);
    words.push(key === "reason" || key === "text" ? plain : `${key} ${plain}`);
  }
  return words.join(", ");
}
