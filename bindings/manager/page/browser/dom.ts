/**
 * Describes elements and updates the document to match. Existing elements with the same key and tag
 * are kept, so that focus, selection, scrolling and open details survive an update. Unchanged
 * attributes and texts are not touched.
 *
 * Texts become text nodes only: no text from a cluster is ever parsed as markup.
 */
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Description {
  readonly tag: string;
  /** Unique among siblings. Default: the position. */
  readonly key: string | undefined;
  readonly attributes: Attributes;
  readonly children: readonly (Description | string)[];
  readonly onClick: (() => void) | undefined;
}

export type Child = Description | string | undefined | false | readonly Child[];

/** `key` does not become an attribute. */
type Properties = Attributes & { readonly key?: string };

export function h(
  tag: string,
  { key, ...attributes }: Properties = {},
  ...children: Child[]
): Description {
  return { tag, key, attributes, children: flat(children), onClick: undefined };
}

export function button(
  attributes: Properties,
  onClick: () => void,
  ...children: Child[]
): Description {
  return { ...h('button', { type: 'button', ...attributes }, ...children), onClick };
}

function flat(children: readonly Child[]): (Description | string)[] {
  return children.flatMap((child): (Description | string)[] => {
    if (child === undefined || child === false) return [];
    return isList(child) ? flat(child) : [child];
  });
}

const isList = (child: Child): child is readonly Child[] => Array.isArray(child);

const keys = new WeakMap<Node, string>();
const attributesOf = new WeakMap<Element, Attributes>();
const clicks = new WeakMap<Element, () => void>();

/** Adds one listener for all elements, because they are added and removed. */
export function listen(root: Element): void {
  root.addEventListener('click', ({ target }) => {
    for (
      let at = target instanceof Element ? target : null;
      at !== null && at !== root;
      at = at.parentElement
    ) {
      const run = clicks.get(at);
      if (run !== undefined) return run();
    }
  });
}

/** Updates the children of an element and restores the focus. */
export function render(root: Element, ...children: Child[]): void {
  const active = document.activeElement;
  const region = active?.closest<HTMLElement>('section[tabindex]');
  patch(root, flat(children));
  if (!(active instanceof HTMLElement) || active === document.activeElement) return;
  if (active.isConnected) active.focus({ preventScroll: true });
  // the row with the focus was removed
  else if (region?.isConnected) region.focus({ preventScroll: true });
}

function patch(parent: Element, children: readonly (Description | string)[]): void {
  const old = new Map<string, Node>();
  for (const node of parent.childNodes) old.set(keys.get(node) ?? '', node);
  let next: Node | null = parent.firstChild;
  const taken = new Set<string>();
  for (const [index, child] of children.entries()) {
    let key = typeof child === 'string' ? `text ${index}` : `${child.tag} ${child.key ?? index}`;
    while (taken.has(key)) key += ' again'; // two controllers may have the same name
    taken.add(key);
    let node = old.get(key);
    if (node === undefined) {
      node =
        typeof child === 'string'
          ? document.createTextNode(child)
          : document.createElement(child.tag);
      keys.set(node, key);
    } else old.delete(key);
    if (typeof child === 'string') {
      if (node.nodeValue !== child) node.nodeValue = child;
    } else if (node instanceof Element) update(node, child);
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  for (const node of old.values()) parent.removeChild(node);
}

function update(element: Element, { attributes, children, onClick }: Description): void {
  const before = attributesOf.get(element) ?? {};
  for (const name of Object.keys(before))
    if (attributes[name] === undefined) element.removeAttribute(name);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === before[name] || value === undefined) continue;
    if (value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  attributesOf.set(element, attributes);
  if (onClick === undefined) clicks.delete(element);
  else clicks.set(element, onClick);
  patch(element, children);
}
