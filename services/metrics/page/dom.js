// Elements from values. Text only ever becomes text: nothing here makes markup of it.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : String(value));
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A value as it is shown, with the exact one beside it.
export function shown(value, text) {
  return typeof value === "number" ? element("data", { value }, text) : text;
}

// Columns: {title, kind: "n" | "t" | "long" | "", of: (row) => value, format, cell: (row) => node}
export function table(caption, columns, rows, more) {
  const heads = columns.map((c) => element("th", { scope: "col", class: c.kind }, c.title));
  const body = rows.map((row) => element("tr", {}, ...columns.map((c) => {
    if (c.cell) return element("td", { class: c.kind }, c.cell(row));
    const value = c.of(row);
    return element("td", { class: c.kind }, shown(value, (c.format || String)(value ?? "")));
  })));
  const text = more ? `${caption}; there are more than these` : caption;
  return element("table", {}, element("caption", {}, text),
                 element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));
}

// Put a table where it belongs, scrolled and focused as it was.
export function place(where, made, { label, tall } = {}) {
  const old = where.querySelector(".scroll");
  if (!old) {
    const box = element("div", { class: tall ? "scroll tall" : "scroll", tabindex: 0,
                                 role: "region", "aria-label": label }, made);
    where.replaceChildren(box);
    return;
  }
  const active = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceChildren(made);
  if (active) document.getElementById(active)?.focus({ preventScroll: true });
}

export function say(where, text) {
  where.replaceChildren(element("p", { class: "none" }, text));
}
