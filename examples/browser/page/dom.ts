/**
 * Making elements. What a cluster says becomes text nodes and attributes only: nothing of it is
 * ever parsed as markup.
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

/** An element of index.html. */
export function byId<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`index.html expected an element #${id} of ${kind.name}`);
}

/**
 * Leaves the document alone where it says this already: selections and readers' places outlive an
 * update.
 */
export function setText(of: Node, text: string): void {
  if (of.textContent !== text) of.textContent = text;
}
