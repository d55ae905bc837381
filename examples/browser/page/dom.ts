/**
 * Creates elements. Data of the cluster becomes text nodes and attributes only and is never parsed
 * as markup.
 */

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** An element of index.html by its id. */
export function byId<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`index.html expected an element #${id} of ${kind.name}`);
}

/**
 * Sets a text only if it differs, so that selections and screen readers' positions survive an
 * update.
 */
export function setText(of: Node, text: string): void {
  if (of.textContent !== text) of.textContent = text;
}
